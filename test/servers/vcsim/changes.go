package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// creation asks for a new machine in the place of another.
type creation struct {
	// Name; empty is that of the other, which is destroyed first.
	Name string `json:"name"`
	// Like is the other's reference or name.
	Like string `json:"like"`
	// Cards are network cards beyond the first.
	Cards int `json:"cards"`
}

// create makes a machine with a reference, UUIDs and MACs of its own.
func (c *control) create(asked *creation) (types.ManagedObjectReference, error) {
	none := types.ManagedObjectReference{}
	like, err := c.lookup(asked.Like)
	if err != nil {
		return none, err
	}
	client, err := vim25.NewClient(c.ctx, c.service)
	if err != nil {
		return none, err
	}
	cards := object.VirtualDeviceList(like.Config.Hardware.Device).SelectByType((*types.VirtualEthernetCard)(nil))
	if len(cards) == 0 || like.ResourcePool == nil || like.Runtime.Host == nil {
		return none, fmt.Errorf("%q has no place to make another machine in", asked.Like)
	}
	host := object.NewHostSystem(client, *like.Runtime.Host)
	p := place{
		folder:  object.NewFolder(client, *like.Parent),
		pool:    object.NewResourcePool(client, *like.ResourcePool),
		network: cards[0].GetVirtualDevice().Backing,
	}
	name := asked.Name
	if name == "" {
		name = like.Name
		if err := c.destroy(client, like); err != nil {
			return none, err
		}
	}
	serial := c.inventory.vms
	c.inventory.vms++
	return c.inventory.createVM(c.ctx, p, host, identity{
		name:   name,
		key:    fmt.Sprintf("%s-%d", name, serial),
		serial: serial,
		cards:  asked.Cards,
	})
}

func (c *control) destroy(client *vim25.Client, vm *simulator.VirtualMachine) error {
	c.veil.show(c.ctx, []types.ManagedObjectReference{vm.Self})
	handle := object.NewVirtualMachine(client, vm.Self)
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		task, err := handle.PowerOff(context.Background())
		if err != nil {
			return err
		}
		if _, err := waitFor(c.ctx, task); err != nil {
			return err
		}
	}
	task, err := handle.Destroy(context.Background())
	if err != nil {
		return err
	}
	_, err = waitFor(c.ctx, task)
	return err
}

// register gives a hidden machine a new reference and brings it back: what vCenter does with one that was unregistered,
// or whose host left the inventory and came again.
func (c *control) register(id string) (types.ManagedObjectReference, error) {
	vm := c.veil.machine(id)
	if vm == nil {
		return types.ManagedObjectReference{}, fmt.Errorf("no hidden virtual machine %q", id)
	}
	before := vm.Self
	c.relink(vm, before, func() { c.ctx.Map.NewEntity(vm) })
	c.veil.renamed(before)
	c.ctx.Map.Put(vm)
	c.veil.settle(c.ctx)
	return vm.Self, nil
}

// relink takes a machine out of the lists that name it, lets something about it change, and puts it into those that
// name it then.
func (c *control) relink(vm *simulator.VirtualMachine, before types.ManagedObjectReference, change func()) {
	for _, list := range c.listsOf(vm) {
		simulator.RemoveReference(list, before)
	}
	change()
	for _, list := range c.listsOf(vm) {
		if !slices.Contains(*list, vm.Self) {
			*list = append(*list, vm.Self)
		}
	}
}

// listsOf are those of folder, host, resource pool and datastores.
func (c *control) listsOf(vm *simulator.VirtualMachine) []*[]types.ManagedObjectReference {
	var lists []*[]types.ManagedObjectReference
	refs := slices.Clone(vm.Datastore)
	for _, ref := range []*types.ManagedObjectReference{vm.Parent, vm.Runtime.Host, vm.ResourcePool} {
		if ref != nil {
			refs = append(refs, *ref)
		}
	}
	for _, ref := range refs {
		switch o := c.ctx.Map.Get(ref).(type) {
		case *simulator.Folder:
			lists = append(lists, &o.ChildEntity)
		case *simulator.HostSystem:
			lists = append(lists, &o.Vm)
		case *simulator.ResourcePool:
			lists = append(lists, &o.Vm)
		case *simulator.VirtualApp:
			lists = append(lists, &o.Vm)
		case *simulator.Datastore:
			lists = append(lists, &o.Vm)
		}
	}
	return lists
}

// movement takes a machine to another host, another folder, or both.
type movement struct {
	VM string `json:"vm"`
	// Host and Folder by reference, name or inventory path.
	Host   string `json:"host"`
	Folder string `json:"folder"`
}

func (c *control) move(asked *movement) error {
	vm, err := c.lookup(asked.VM)
	if err != nil {
		return err
	}
	var changes []types.PropertyChange
	if asked.Host != "" {
		ref, err := c.object(asked.Host)
		if err != nil {
			return err
		}
		host, ok := c.ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok {
			return fmt.Errorf("%q is no host", asked.Host)
		}
		cluster, ok := c.ctx.Map.Get(*host.Parent).(*simulator.ClusterComputeResource)
		if !ok {
			return fmt.Errorf("%q is in no cluster", asked.Host)
		}
		if former := c.ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem); *former.Parent != *host.Parent {
			changes = append(changes, types.PropertyChange{Name: "resourcePool", Val: cluster.ResourcePool})
		}
		changes = append(changes, types.PropertyChange{Name: "runtime.host", Val: &ref},
			types.PropertyChange{Name: "summary.runtime.host", Val: &ref})
	}
	if asked.Folder != "" {
		ref, err := c.object(asked.Folder)
		if err != nil {
			return err
		}
		if folder, ok := c.ctx.Map.Get(ref).(*simulator.Folder); !ok || !slices.Contains(folder.ChildType, "VirtualMachine") {
			return fmt.Errorf("%q is no folder for virtual machines", asked.Folder)
		}
		changes = append(changes, types.PropertyChange{Name: "parent", Val: &ref})
	}
	if len(changes) == 0 {
		return fmt.Errorf("a move needs a host or a folder")
	}
	c.ctx.WithLock(vm, func() {
		c.relink(vm, vm.Self, func() { c.ctx.Update(vm, changes) })
	})
	c.veil.settle(c.ctx)
	return nil
}

// hostState is whether a host answers its vCenter.
type hostState struct {
	Host            string `json:"host"`
	ConnectionState string `json:"connectionState"`
}

// apply does to the host's machines what vCenter does: those of a host that is away are disconnected.
func (s *hostState) apply(c *control) error {
	state := types.HostSystemConnectionState(s.ConnectionState)
	if !slices.Contains(state.Values(), state) {
		return fmt.Errorf("unknown connection state %q of a host", state)
	}
	ref, err := c.object(s.Host)
	if err != nil {
		return err
	}
	host, ok := c.ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return fmt.Errorf("%q is no host", s.Host)
	}
	c.ctx.WithLock(host, func() {
		c.ctx.Update(host, []types.PropertyChange{
			{Name: "runtime.connectionState", Val: state},
			{Name: "summary.runtime.connectionState", Val: state},
		})
	})
	of := string(types.VirtualMachineConnectionStateConnected)
	if state != types.HostSystemConnectionStateConnected {
		of = string(types.VirtualMachineConnectionStateDisconnected)
	}
	for _, vm := range c.all() {
		if vm.Runtime.Host == nil || *vm.Runtime.Host != ref {
			continue
		}
		c.ctx.WithLock(vm, func() { err = (&machineState{ConnectionState: &of}).apply(c.ctx, vm) })
		if err != nil {
			return err
		}
	}
	return nil
}

// lookup finds a machine by reference or name, behind the veil too.
func (c *control) lookup(id string) (*simulator.VirtualMachine, error) {
	if vm := c.veil.machine(id); vm != nil {
		return vm, nil
	}
	return lookup(c.ctx, id)
}

func (c *control) all() []*simulator.VirtualMachine {
	list := c.veil.machines()
	for _, entity := range c.ctx.Map.All("VirtualMachine") {
		list = append(list, entity.(*simulator.VirtualMachine))
	}
	return list
}

// object finds an inventory object by reference, name, or path from the root.
func (c *control) object(id string) (types.ManagedObjectReference, error) {
	if !strings.HasPrefix(id, "/") {
		if vm := c.veil.machine(id); vm != nil {
			return vm.Self, nil
		}
		return lookupObject(c.ctx, id)
	}
	at := c.service.Context.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.RootFolder
	for _, part := range strings.FieldsFunc(id, func(r rune) bool { return r == '/' }) {
		next := c.ctx.Map.FindByName(part, children(c.ctx, at))
		if next == nil {
			return at, fmt.Errorf("no inventory object %q", id)
		}
		at = next.Reference()
	}
	return at, nil
}

func children(ctx *simulator.Context, ref types.ManagedObjectReference) []types.ManagedObjectReference {
	switch o := ctx.Map.Get(ref).(type) {
	case *simulator.Folder:
		return o.ChildEntity
	case *simulator.Datacenter:
		return []types.ManagedObjectReference{o.VmFolder, o.HostFolder, o.DatastoreFolder, o.NetworkFolder}
	case *simulator.ClusterComputeResource:
		return append(slices.Clone(o.Host), *o.ResourcePool)
	default:
		return nil
	}
}
