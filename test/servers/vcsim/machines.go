package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// machine is a virtual machine as the control port shows it.
type machine struct {
	Ref          string `json:"ref"`
	Name         string `json:"name"`
	UUID         string `json:"uuid"`
	InstanceUUID string `json:"instanceUuid"`
	VNICs        []vnic `json:"vnics"`
	Host         string `json:"host"`
	Cluster      string `json:"cluster"`
	Datacenter   string `json:"datacenter"`
	PowerState   string `json:"powerState"`
}

type vnic struct {
	Key     int32  `json:"key"`
	MAC     string `json:"mac"`
	Network string `json:"network"`
}

// machines describes these virtual machines in the order of their creation.
func machines(ctx *simulator.Context, all []*simulator.VirtualMachine) []machine {
	list := []machine{}
	slices.SortFunc(all, func(a, b *simulator.VirtualMachine) int {
		left, right := a.Self.Value, b.Self.Value
		return cmp.Or(cmp.Compare(len(left), len(right)), cmp.Compare(left, right))
	})
	for _, vm := range all {
		ctx.WithLock(vm, func() {
			m := machine{
				Ref:          vm.Self.Value,
				Name:         vm.Name,
				UUID:         vm.Config.Uuid,
				InstanceUUID: vm.Config.InstanceUuid,
				VNICs:        vnics(ctx, vm),
				PowerState:   string(vm.Runtime.PowerState),
				Datacenter:   ancestor(ctx, vm, "Datacenter"),
			}
			if host := vm.Runtime.Host; host != nil {
				m.Host = name(ctx, *host)
				if system, ok := ctx.Map.Get(*host).(mo.Entity); ok {
					m.Cluster = ancestor(ctx, system, "ClusterComputeResource")
				}
			}
			list = append(list, m)
		})
	}
	return list
}

// lookup finds a machine by reference or name.
func lookup(ctx *simulator.Context, id string) (*simulator.VirtualMachine, error) {
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: id}
	if vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine); ok {
		return vm, nil
	}
	for _, entity := range ctx.Map.All("VirtualMachine") {
		if vm := entity.(*simulator.VirtualMachine); vm.Name == id {
			return vm, nil
		}
	}
	return nil, fmt.Errorf("no virtual machine %q", id)
}

func vnics(ctx *simulator.Context, vm *simulator.VirtualMachine) []vnic {
	cards := []vnic{}
	for _, device := range vm.Config.Hardware.Device {
		card, ok := device.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		c := card.GetVirtualEthernetCard()
		cards = append(cards, vnic{Key: c.Key, MAC: c.MacAddress, Network: networkName(ctx, c.Backing)})
	}
	return cards
}

// networkName is the name that VMware Tools would report for a vNIC's network.
func networkName(ctx *simulator.Context, backing types.BaseVirtualDeviceBackingInfo) string {
	switch b := backing.(type) {
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return name(ctx, types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey})
	case *types.VirtualEthernetCardNetworkBackingInfo:
		return b.DeviceName
	default:
		return ""
	}
}

// ancestor is the name of the nearest parent of this type, or "" where there is none.
func ancestor(ctx *simulator.Context, entity mo.Entity, kind string) string {
	for ok := true; ok && entity.Entity().Parent != nil; {
		ref := *entity.Entity().Parent
		if ref.Type == kind {
			return name(ctx, ref)
		}
		entity, ok = ctx.Map.Get(ref).(mo.Entity)
	}
	return ""
}

func name(ctx *simulator.Context, ref types.ManagedObjectReference) string {
	if entity, ok := ctx.Map.Get(ref).(mo.Entity); ok {
		return entity.Entity().Name
	}
	return ""
}
