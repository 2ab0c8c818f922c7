# $1 counts the versions that are installed once this is done.
if [ -d /run/systemd/system ]; then systemctl daemon-reload >/dev/null 2>&1 || :; fi
if [ "$1" -eq 1 ]; then
  systemctl enable rollcall-agent.service >/dev/null 2>&1 || :
  # Where a kubelet has joined a cluster already. Otherwise the agent starts with the kubelet or the next boot.
  for kubeconfig in /etc/kubernetes/kubelet.conf \
    /var/lib/rancher/k3s/agent/kubelet.kubeconfig /var/lib/rancher/rke2/agent/kubelet.kubeconfig; do
    [ -e "$kubeconfig" ] && [ -d /run/systemd/system ] || continue
    systemctl start rollcall-agent.service || :
    break
  done
fi
:
