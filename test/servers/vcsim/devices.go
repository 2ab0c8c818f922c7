package main

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// firstDiskKey is the device key that vSphere gives a machine's first disk.
const firstDiskKey = 2000

// furnish gives a machine devices of its own, and as many disks as asked for. The simulator's machines share one PCI
// controller, which lists the cards of all: the thousandth machine's would take 20 kB. Disks are as wordy as those of a
// real vCenter, where five of them make 10 kB of devices, and have no file.
func furnish(vm *simulator.VirtualMachine, disks int) {
	devices := []types.BaseVirtualDevice{}
	var first *types.VirtualDisk
	for _, device := range vm.Config.Hardware.Device {
		switch d := device.(type) {
		case *types.VirtualPCIController:
			own := *d
			own.Device = nil
			device = &own
		case *types.VirtualDisk:
			first = d
		}
		devices = append(devices, device)
	}
	for i := 1; i < disks && first != nil; i++ {
		devices = append(devices, disk(first, vm.Config.Uuid, i))
	}
	for _, device := range devices {
		controller, ok := device.(*types.VirtualPCIController)
		for _, each := range devices {
			if d := each.GetVirtualDevice(); ok && d.ControllerKey == controller.Key {
				controller.Device = append(controller.Device, d.Key)
			}
		}
	}
	vm.Config.Hardware.Device = devices
}

func disk(first *types.VirtualDisk, uuid string, i int) *types.VirtualDisk {
	yes, no := true, false
	unit := int32(i)
	backing := first.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	id := fmt.Sprintf("%s%02x", uuid[:34], i)
	another := *first
	another.Key = firstDiskKey + unit
	another.UnitNumber = &unit
	another.DeviceInfo = &types.Description{Label: fmt.Sprintf("Hard disk %d", i+1), Summary: "10,485,760 KB"}
	another.CapacityInBytes = first.CapacityInKB * 1024
	another.NativeUnmanagedLinkedClone = &no
	another.VDiskId = &types.ID{Id: id}
	another.Shares = &types.SharesInfo{Shares: 1000, Level: types.SharesLevelNormal}
	another.StorageIOAllocation = &types.StorageIOAllocationInfo{
		Limit:       types.NewInt64(-1),
		Shares:      another.Shares,
		Reservation: types.NewInt32(0),
	}
	another.Backing = &types.VirtualDiskFlatVer2BackingInfo{
		VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{
			FileName:        fmt.Sprintf("[LocalDS_0] fcd/%s.vmdk", id),
			Datastore:       backing.Datastore,
			BackingObjectId: &id,
		},
		DiskMode:        "independent_persistent",
		Split:           &no,
		WriteThrough:    &no,
		ThinProvisioned: &yes,
		EagerlyScrub:    &no,
		Uuid:            id,
		ContentId:       id[24:] + id[24:] + "fffffffe",
		DigestEnabled:   &no,
		Sharing:         "sharingNone",
	}
	return &another
}
