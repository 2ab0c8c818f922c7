package main

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const uuidPath = "config.uuid"

// reconfiguredUUIDs tells those who watch a machine of the UUID that ReconfigVM_Task has given it. The simulator changes
// it, and tells nobody.
type reconfiguredUUIDs struct {
	mu    sync.Mutex
	known map[types.ManagedObjectReference]string
}

func pushReconfiguredUUIDs(ctx *simulator.Context) {
	r := &reconfiguredUUIDs{known: map[types.ManagedObjectReference]string{}}
	for _, vm := range ctx.Map.All("VirtualMachine") {
		r.known[vm.Reference()] = vm.(*simulator.VirtualMachine).Config.Uuid
	}
	ctx.Map.AddHandler(r)
}

func (r *reconfiguredUUIDs) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "ReconfiguredUUIDs", Value: "reconfiguredUUIDs"}
}

func (r *reconfiguredUUIDs) PutObject(_ *simulator.Context, o mo.Reference) {
	vm, ok := o.(*simulator.VirtualMachine)
	if !ok || vm.Config == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[vm.Self] = vm.Config.Uuid
}

// UpdateObject is called after each change, that of ReconfigVM_Task to the version of the configuration among them.
func (r *reconfiguredUUIDs) UpdateObject(ctx *simulator.Context, o mo.Reference, _ []types.PropertyChange) {
	vm, ok := o.(*mo.VirtualMachine)
	if !ok || vm.Config == nil {
		return
	}
	r.mu.Lock()
	before, known := r.known[vm.Self]
	r.known[vm.Self] = vm.Config.Uuid
	r.mu.Unlock()
	if known && before != vm.Config.Uuid {
		ctx.Update(vm, []types.PropertyChange{{Name: uuidPath, Val: vm.Config.Uuid}})
	}
}

func (r *reconfiguredUUIDs) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, ref)
}
