if [ -d /run/systemd/system ]; then
  systemctl daemon-reload >/dev/null 2>&1 || :
  # After an upgrade, where it ran before.
  if [ "$1" -ge 1 ]; then systemctl try-restart rollcall-agent.service || :; fi
fi
:
