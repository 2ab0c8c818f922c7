package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// guestData is what VMware Tools tells vCenter about a guest.
type guestData struct {
	VM string `json:"vm"`
	// HostName as the guest calls itself.
	HostName string `json:"hostName"`
	// IPAddress is the primary one; without it, the first of the NICs.
	IPAddress string     `json:"ipAddress"`
	NICs      []guestNIC `json:"nics"`
}

type guestNIC struct {
	// MAC is that of the vNIC in the same place where it is left out.
	MAC     string `json:"mac"`
	Network string `json:"network"`
	// DeviceConfigID is the key of the vNIC, found by the MAC where it is left out; -1 is no vNIC, such as a bridge.
	DeviceConfigID *int32 `json:"deviceConfigId"`
	// Addresses with their prefix length.
	Addresses []string `json:"addresses"`
}

func (g *guestData) apply(ctx *simulator.Context, vm *simulator.VirtualMachine) error {
	nics := []types.GuestNicInfo{}
	cards := vnics(ctx, vm)
	for i, given := range g.NICs {
		nic, err := given.info(cards, i)
		if err != nil {
			return err
		}
		nics = append(nics, nic)
	}
	ip := g.IPAddress
	for _, nic := range nics {
		if ip == "" && len(nic.IpAddress) > 0 {
			ip = nic.IpAddress[0]
		}
	}
	running := string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	ctx.Update(vm, []types.PropertyChange{
		{Name: "guest.hostName", Val: g.HostName},
		{Name: "guest.ipAddress", Val: ip},
		{Name: "guest.net", Val: nics},
		{Name: "guest.toolsStatus", Val: types.VirtualMachineToolsStatusToolsOk},
		{Name: "guest.toolsRunningStatus", Val: running},
		{Name: "guest.guestState", Val: string(types.VirtualMachineGuestStateRunning)},
		{Name: "summary.guest.hostName", Val: g.HostName},
		{Name: "summary.guest.ipAddress", Val: ip},
		{Name: "summary.guest.toolsStatus", Val: types.VirtualMachineToolsStatusToolsOk},
		{Name: "summary.guest.toolsRunningStatus", Val: running},
	})
	return nil
}

func (n *guestNIC) info(cards []vnic, place int) (types.GuestNicInfo, error) {
	info := types.GuestNicInfo{
		Network:        n.Network,
		MacAddress:     n.MAC,
		Connected:      true,
		DeviceConfigId: -1,
		IpConfig:       &types.NetIpConfigInfo{},
	}
	if info.MacAddress == "" && place < len(cards) {
		info.MacAddress = cards[place].MAC
	}
	at := slices.IndexFunc(cards, func(card vnic) bool { return card.MAC == info.MacAddress })
	if at >= 0 {
		info.DeviceConfigId = cards[at].Key
		if info.Network == "" {
			info.Network = cards[at].Network
		}
	}
	if n.DeviceConfigID != nil {
		info.DeviceConfigId = *n.DeviceConfigID
	}
	for _, address := range n.Addresses {
		prefix, err := netip.ParsePrefix(address)
		if err != nil {
			return info, fmt.Errorf("address of a guest NIC: %w", err)
		}
		info.IpAddress = append(info.IpAddress, prefix.Addr().String())
		info.IpConfig.IpAddress = append(info.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{
			IpAddress:    prefix.Addr().String(),
			PrefixLength: int32(prefix.Bits()),
			State:        string(types.NetIpConfigInfoIpAddressStatusPreferred),
		})
	}
	return info, nil
}

// machineState is what happens to a machine from outside. What is nil stays as it is.
type machineState struct {
	VM              string  `json:"vm"`
	ConnectionState *string `json:"connectionState"`
	PowerState      *string `json:"powerState"`
	UUID            *string `json:"uuid"`
	InstanceUUID    *string `json:"instanceUuid"`
	CPUs            *int32  `json:"cpus"`
	MemoryMB        *int32  `json:"memoryMB"`
	GuestID         *string `json:"guestId"`
	// FaultToleranceState is "notConfigured" from the start; DASProtected is whether vSphere HA protects the machine.
	FaultToleranceState *string `json:"faultToleranceState"`
	DASProtected        *bool   `json:"dasProtected"`
	// MAC is that of the first vNIC, as after the vNIC was replaced.
	MAC *string `json:"mac"`
	// CustomValues are all values of its custom attributes, by the keys of their definitions. The simulator's own SetField pushes nothing.
	CustomValues map[int32]string `json:"customValues"`
}

func (s *machineState) apply(ctx *simulator.Context, vm *simulator.VirtualMachine) error {
	var changes []types.PropertyChange
	change := func(value any, paths ...string) {
		for _, path := range paths {
			changes = append(changes, types.PropertyChange{Name: path, Val: value})
		}
	}
	if s.ConnectionState != nil {
		state := types.VirtualMachineConnectionState(*s.ConnectionState)
		if !slices.Contains(state.Values(), state) {
			return fmt.Errorf("unknown connection state %q", state)
		}
		change(state, "runtime.connectionState", "summary.runtime.connectionState")
	}
	if s.PowerState != nil {
		state := types.VirtualMachinePowerState(*s.PowerState)
		if !slices.Contains(state.Values(), state) {
			return fmt.Errorf("unknown power state %q", state)
		}
		change(state, "runtime.powerState", "summary.runtime.powerState")
	}
	if s.UUID != nil {
		change(*s.UUID, "config.uuid", "summary.config.uuid")
	}
	if s.InstanceUUID != nil {
		change(*s.InstanceUUID, "config.instanceUuid", "summary.config.instanceUuid")
	}
	if s.FaultToleranceState != nil {
		state := types.VirtualMachineFaultToleranceState(*s.FaultToleranceState)
		if !slices.Contains(state.Values(), state) {
			return fmt.Errorf("unknown fault tolerance state %q", state)
		}
		change(state, "runtime.faultToleranceState", "summary.runtime.faultToleranceState")
	}
	if s.DASProtected != nil {
		change(&types.VirtualMachineRuntimeInfoDasProtectionState{DasProtected: *s.DASProtected}, "runtime.dasVmProtection")
	}
	if s.CPUs != nil {
		change(*s.CPUs, "config.hardware.numCPU", "summary.config.numCpu")
	}
	if s.MemoryMB != nil {
		change(*s.MemoryMB, "config.hardware.memoryMB", "summary.config.memorySizeMB")
	}
	if s.GuestID != nil {
		change(*s.GuestID, "config.guestId", "summary.config.guestId")
	}
	if s.CustomValues != nil {
		values := []types.BaseCustomFieldValue{}
		for key, value := range s.CustomValues {
			values = append(values, &types.CustomFieldStringValue{CustomFieldValue: types.CustomFieldValue{Key: key}, Value: value})
		}
		change(values, "customValue")
	}
	if s.MAC != nil {
		devices := slices.Clone(vm.Config.Hardware.Device)
		first := slices.IndexFunc(devices, func(d types.BaseVirtualDevice) bool {
			_, isCard := d.(types.BaseVirtualEthernetCard)
			return isCard
		})
		if first < 0 {
			return fmt.Errorf("the machine has no vNIC")
		}
		devices[first].(types.BaseVirtualEthernetCard).GetVirtualEthernetCard().MacAddress = *s.MAC
		change(devices, "config.hardware.device")
	}
	if configured := slices.ContainsFunc(changes, func(c types.PropertyChange) bool { return strings.HasPrefix(c.Name, "config.") }); configured {
		change(fmt.Sprintf("%d", time.Now().UnixNano()), "config.changeVersion")
	}
	ctx.Update(vm, changes)
	return nil
}
