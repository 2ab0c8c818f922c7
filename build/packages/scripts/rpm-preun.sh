# The last one goes: no upgrade.
if [ "$1" -eq 0 ]; then
  if [ -d /run/systemd/system ]; then systemctl stop rollcall-agent.service >/dev/null 2>&1 || :; fi
  systemctl disable rollcall-agent.service >/dev/null 2>&1 || :
fi
:
