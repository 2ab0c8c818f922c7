#!/bin/sh
set -e
[ "$1" = configure ] || [ "$1" = abort-upgrade ] || [ "$1" = abort-remove ] || exit 0

# Enabled when first installed; a unit that was disabled or masked later stays so. Warnings are of kubelets that are not there.
deb-systemd-helper unmask rollcall-agent.service >/dev/null || true
if deb-systemd-helper --quiet was-enabled rollcall-agent.service; then
  deb-systemd-helper enable rollcall-agent.service >/dev/null 2>&1 || true
else
  deb-systemd-helper update-state rollcall-agent.service >/dev/null || true
fi

# In an image that is being built nothing runs.
[ -d /run/systemd/system ] || exit 0
systemctl --system daemon-reload >/dev/null || true
if [ -n "$2" ]; then
  # An upgrade, or an install after a removal that left /etc/rollcall: dpkg names the earlier version for both. Where the unit is
  # disabled and does not run, and where policy-rc.d forbids it, nothing is started.
  deb-systemd-invoke restart rollcall-agent.service || true
  exit 0
fi
# Where a kubelet has joined a cluster already. Otherwise the agent starts with the kubelet or the next boot.
for kubeconfig in /etc/kubernetes/kubelet.conf \
  /var/lib/rancher/k3s/agent/kubelet.kubeconfig /var/lib/rancher/rke2/agent/kubelet.kubeconfig; do
  [ -e "$kubeconfig" ] || continue
  deb-systemd-invoke start rollcall-agent.service || true
  break
done
