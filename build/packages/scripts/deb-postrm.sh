#!/bin/sh
set -e
if [ "$1" = remove ]; then
  if [ -d /run/systemd/system ]; then systemctl --system daemon-reload >/dev/null || true; fi
  if [ -x /usr/bin/deb-systemd-helper ]; then deb-systemd-helper mask rollcall-agent.service >/dev/null || true; fi
fi
if [ "$1" = purge ]; then
  if [ -x /usr/bin/deb-systemd-helper ]; then
    deb-systemd-helper purge rollcall-agent.service >/dev/null || true
    deb-systemd-helper unmask rollcall-agent.service >/dev/null || true
  fi
  rmdir --ignore-fail-on-non-empty /etc/rollcall 2>/dev/null || true
fi
