package main

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const uuidPath = "config.uuid"

// uuidFilter tells of the UUIDs of all machines that stand in a container view: each machine once, and then those that
// have changed. The simulator's own filter would tell of all again whenever one is created, and read all of them for each
// change of anything.
type uuidFilter struct {
	mo.PropertyFilter
	collector *pagingCollector
	// wake holds a token while machines are queued.
	wake chan struct{}

	mu sync.Mutex
	// told is what the client knows.
	told map[types.ManagedObjectReference]string
	// queue holds machines of which there may be something to tell, each once.
	queue  []types.ManagedObjectReference
	queued map[types.ManagedObjectReference]bool
}

// readsUUIDs reports whether a filter is of the UUIDs of machines in a view of the whole inventory, and of nothing else.
func readsUUIDs(ctx *simulator.Context, spec types.PropertyFilterSpec) bool {
	if len(spec.ObjectSet) != 1 || len(spec.PropSet) != 1 {
		return false
	}
	view, ok := ctx.Session.Get(spec.ObjectSet[0].Obj).(*simulator.ContainerView)
	if !ok || !view.Recursive || view.Container != ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.RootFolder {
		return false
	}
	set := spec.PropSet[0]
	return set.Type == "VirtualMachine" && len(set.PathSet) == 1 && set.PathSet[0] == uuidPath
}

func newUUIDFilter(ctx *simulator.Context, collector *pagingCollector, req *types.CreateFilter) *uuidFilter {
	f := &uuidFilter{collector: collector, wake: make(chan struct{}, 1)}
	f.Spec, f.PartialUpdates = req.Spec, req.PartialUpdates
	f.Self = sessionReference(ctx, "PropertyFilter")
	ctx.Session.Put(f)
	f.restart(ctx)
	ctx.Map.AddHandler(f)
	return f
}

// restart tells of all machines from the beginning.
func (f *uuidFilter) restart(ctx *simulator.Context) {
	f.mu.Lock()
	f.told = map[types.ManagedObjectReference]string{}
	f.queue, f.queued = nil, map[types.ManagedObjectReference]bool{}
	f.mu.Unlock()
	for _, vm := range ctx.Map.All("VirtualMachine") {
		f.enqueue(vm.Reference())
	}
}

func (f *uuidFilter) enqueue(ref types.ManagedObjectReference) {
	if ref.Type != "VirtualMachine" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queued[ref] {
		return
	}
	f.queued[ref] = true
	f.queue = append(f.queue, ref)
	f.signal()
}

func (f *uuidFilter) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *uuidFilter) waiting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue) > 0
}

// take tells of at most so many machines, and reports whether more are queued.
func (f *uuidFilter) take(ctx *simulator.Context, atMost int) ([]types.ObjectUpdate, bool) {
	var updates []types.ObjectUpdate
	for len(updates) < atMost {
		f.mu.Lock()
		if len(f.queue) == 0 {
			f.mu.Unlock()
			return updates, false
		}
		ref := f.queue[0]
		f.queue = f.queue[1:]
		delete(f.queued, ref)
		f.mu.Unlock()
		if update := f.update(ctx, ref); update != nil {
			updates = append(updates, *update)
		}
	}
	return updates, f.waiting()
}

// mostUpdates is how many objects vCenter tells of at once, whatever a client asks for.
const mostUpdates = 100

// tell adds to the answer what there is to tell, as far as it has room.
func (f *uuidFilter) tell(ctx *simulator.Context, answer *types.WaitForUpdatesExResponse, asked int32) {
	set := answer.Returnval
	if set != nil && set.Truncated != nil && *set.Truncated {
		return
	}
	room := mostUpdates
	if asked > 0 && asked < mostUpdates {
		room = int(asked)
	}
	if set != nil {
		for _, filter := range set.FilterSet {
			room -= len(filter.ObjectSet)
		}
	}
	updates, more := f.take(ctx, max(0, room))
	if len(updates) == 0 && !more {
		return
	}
	if set == nil {
		set = &types.UpdateSet{}
		answer.Returnval = set
	}
	if more {
		set.Truncated = types.NewBool(true)
	}
	if len(updates) > 0 {
		set.FilterSet = append(set.FilterSet, types.PropertyFilterUpdate{Filter: f.Self, ObjectSet: updates})
	}
}

// update is what there is to tell of a machine; nil where that is nothing.
func (f *uuidFilter) update(ctx *simulator.Context, ref types.ManagedObjectReference) *types.ObjectUpdate {
	vm, exists := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	uuid := ""
	if exists {
		ctx.WithLock(vm, func() { uuid = vm.Config.Uuid })
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before, told := f.told[ref]
	update := &types.ObjectUpdate{Obj: ref}
	switch {
	case !exists && told:
		update.Kind = types.ObjectUpdateKindLeave
		delete(f.told, ref)
		return update
	case !exists || told && before == uuid:
		return nil
	case told:
		update.Kind = types.ObjectUpdateKindModify
	default:
		update.Kind = types.ObjectUpdateKindEnter
	}
	f.told[ref] = uuid
	change := types.PropertyChange{Name: uuidPath, Op: types.PropertyChangeOpAssign, Val: uuid}
	if uuid == "" {
		change.Op, change.Val = types.PropertyChangeOpIndirectRemove, nil
	}
	update.ChangeSet = []types.PropertyChange{change}
	return update
}

// PutObject is called for each object that enters the inventory.
func (f *uuidFilter) PutObject(_ *simulator.Context, o mo.Reference) {
	f.enqueue(o.Reference())
}

// UpdateObject is called for each change.
func (f *uuidFilter) UpdateObject(_ *simulator.Context, o mo.Reference, _ []types.PropertyChange) {
	vm, ok := o.(*mo.VirtualMachine)
	if !ok || vm.Config == nil {
		return
	}
	f.mu.Lock()
	before, told := f.told[vm.Self]
	f.mu.Unlock()
	if told && before != vm.Config.Uuid {
		f.enqueue(vm.Self)
	}
}

// RemoveObject is called before an object leaves the inventory.
func (f *uuidFilter) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	f.enqueue(ref)
}

func (f *uuidFilter) DestroyPropertyFilter(ctx *simulator.Context, _ *types.DestroyPropertyFilter) soap.HasFault {
	f.collector.uuids.CompareAndSwap(f, nil)
	f.end(ctx)
	return &methods.DestroyPropertyFilterBody{Res: &types.DestroyPropertyFilterResponse{}}
}

func (f *uuidFilter) end(ctx *simulator.Context) {
	ctx.Map.RemoveHandler(f)
	ctx.Session.Remove(ctx, f.Self)
}

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
