package main

import (
	"fmt"
	"net/http"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// faultTolerance makes a group of machines, as vSphere Fault Tolerance does: the first one is the primary.
type faultTolerance struct {
	// VMs by reference or name. The same ones in another order are a failover.
	VMs []string `json:"vms"`
}

func (c *control) handleFaultTolerance(mux *http.ServeMux) {
	mux.HandleFunc("POST /fault-tolerance", answer(changed(c, c.protect)))
}

// protect gives all of them the BIOS UUID and the MACs of the primary. Instance UUIDs and references stay their own.
func (c *control) protect(group *faultTolerance) error {
	members := []*simulator.VirtualMachine{}
	ids := types.FaultToleranceConfigInfo{}
	for _, id := range group.VMs {
		vm, err := c.lookup(id)
		if err != nil {
			return err
		}
		members = append(members, vm)
		ids.InstanceUuids = append(ids.InstanceUuids, vm.Config.InstanceUuid)
		ids.ConfigPaths = append(ids.ConfigPaths, vm.Config.Files.VmPathName)
	}
	if len(members) < 2 {
		return fmt.Errorf("it takes two machines, there are %d", len(members))
	}
	primary := members[0]
	for i, vm := range members {
		info := ids
		info.Role = int32(i + 1)
		changes := []types.PropertyChange{
			{Name: "config.uuid", Val: primary.Config.Uuid},
			{Name: "summary.config.uuid", Val: primary.Config.Uuid},
			{Name: "runtime.faultToleranceState", Val: types.VirtualMachineFaultToleranceStateRunning},
		}
		if i == 0 {
			secondaries := []types.ManagedObjectReference{}
			for _, other := range members[1:] {
				secondaries = append(secondaries, other.Self)
			}
			changes = append(changes, types.PropertyChange{Name: "config.ftInfo", Val: &types.FaultTolerancePrimaryConfigInfo{
				FaultToleranceConfigInfo: info,
				Secondaries:              secondaries,
			}})
		} else {
			changes = append(changes, types.PropertyChange{Name: "config.ftInfo", Val: &types.FaultToleranceSecondaryConfigInfo{
				FaultToleranceConfigInfo: info,
				PrimaryVM:                primary.Self,
			}})
			copyMACs(c.ctx, primary, vm)
		}
		c.ctx.Update(vm, changes)
	}
	return nil
}

func copyMACs(ctx *simulator.Context, from, to *simulator.VirtualMachine) {
	cards := vnics(ctx, from)
	ctx.WithLock(to, func() {
		n := 0
		for _, device := range to.Config.Hardware.Device {
			if card, ok := device.(types.BaseVirtualEthernetCard); ok && n < len(cards) {
				card.GetVirtualEthernetCard().MacAddress = cards[n].MAC
				n++
			}
		}
	})
}
