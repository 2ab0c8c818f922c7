#!/bin/sh
# Makes a machine of the mount, network and UTS namespaces in which it is started, says so, and stays for as long as its input.
# What it changes is in these namespaces alone, and goes with them.
set -eu
# Its name and MAC address; the number of the process whose network is at the other end of its cable, and the /24 of both;
# a folder in memory, in which facts/ goes over /sys.
name=$1 mac=$2 world=$3 subnet=$4 dir=$5

echo "$name" > /proc/sys/kernel/hostname
ip link set lo up
ip link add eth0 address "$mac" type veth peer name "$name" netns "$world"
nsenter --target "$world" --net ip address add "$subnet.1/24" dev "$name"
nsenter --target "$world" --net ip link set "$name" up
ip address add "$subnet.2/24" dev eth0
ip link set eth0 up
ip route add default via "$subnet.1"

# The /sys of this network namespace, and over it what the machine's firmware and its NIC would show.
mkdir "$dir/sysfs" "$dir/cgroup"
mount -t sysfs sysfs "$dir/sysfs"
mount --move /sys/fs/cgroup "$dir/cgroup"
mount -t overlay -o "lowerdir=$dir/facts:$dir/sysfs" overlay /sys
mount --move "$dir/cgroup" /sys/fs/cgroup

# A kubelet writes these of the kernel's settings, which no namespace has for itself: it gets copies.
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
  kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  copy="$dir/settings/$setting"
  mkdir -p "${copy%/*}"
  cat "/proc/sys/$setting" > "$copy"
  mount --bind "$copy" "/proc/sys/$setting"
done

# What kubelet and containerd leave in the folders of the system stays here.
for folder in etc run var; do
  mkdir -p "$dir/over/$folder" "$dir/work/$folder"
  mount -t overlay -o "lowerdir=/$folder,upperdir=$dir/over/$folder,workdir=$dir/work/$folder" overlay "/$folder"
done

echo ready
exec cat
