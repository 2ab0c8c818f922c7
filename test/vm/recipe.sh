#!/bin/sh
# Makes the root file system and the kernel of the virtual machine: recipe.sh FOLDER, which is there and empty.
set -eu
out=$1
root=$out/root
here=$(dirname "$0")

# What the agent's package needs is in it, for the machine has no mirror; what it recommends is not.
mmdebstrap --quiet --variant=minbase --include=systemd-sysv,dbus,udev,kmod,iproute2,libstdc++6,init-system-helpers \
  trixie "$root"

# The kernel alone: its package insists on tools for an initrd, which the kernel for clouds does without.
chroot "$root" sh -eu -c '
  apt-get -q update
  cd /tmp
  apt-get -q download "$(apt-cache depends linux-image-cloud-amd64 | sed -n "s/.*Depends: \(linux-image-[^ ]*\)/\1/p")"
  dpkg-deb --fsys-tarfile linux-image-*.deb | tar -C / --extract --keep-directory-symlink
  depmod "$(ls /lib/modules)"
  rm -rf /tmp/* /var/lib/apt/lists/* /var/cache/apt/*'
mv "$root"/boot/vmlinuz-* "$out/vmlinuz"
rm -rf "$root"/boot/*

cp --recursive "$here/guest/." "$root/"
chmod 755 "$root/usr/local/sbin/channel"
echo worker-0 >"$root/etc/hostname"
echo '127.0.0.1 localhost worker-0' >"$root/etc/hosts"
: >"$root/etc/machine-id"
ln -s /etc/systemd/system/channel.service "$root/etc/systemd/system/multi-user.target.wants/channel.service"
chroot "$root" systemctl --quiet enable systemd-networkd.service
# Nobody logs in, and nothing is fetched at night.
chroot "$root" systemctl --quiet mask getty.target apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
  e2scrub_all.timer e2scrub_reap.service fstrim.timer systemd-logind.service

mke2fs -q -t ext4 -O ^has_journal -d "$root" "$out/root.img" 2G
rm -rf "$root"
