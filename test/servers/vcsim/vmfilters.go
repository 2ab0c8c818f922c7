package main

import (
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// vmFilter tells of machines: the members of a list view, or the UUIDs of all that stand in a container view. As vCenter's,
// it tells of each machine once, then of what has changed, and at the end that it has left. The simulator's own filter reads
// all machines for each change of anything, tells of all again whenever a list changes, and never of those removed from it.
type vmFilter struct {
	mo.PropertyFilter
	watch *watch
	paths []string

	mu sync.Mutex
	// members are those of the list; nil where the filter is of all machines.
	members map[types.ManagedObjectReference]bool
	// told are the machines that the client knows; of all machines, with their UUIDs.
	told map[types.ManagedObjectReference]string
	// queue holds machines of which there may be something to tell, each once.
	queue []types.ManagedObjectReference
	due   map[types.ManagedObjectReference]*due
}

// due is what there may be to tell of one machine.
type due struct {
	// paths that have changed.
	paths []string
	// again is for a machine that has come back, or whose last update the client has not received: all is told.
	again bool
	// removed is for a machine that is about to leave the registry.
	removed bool
}

// newVMFilter answers nil where the specification is another than one on machines in such a view.
func newVMFilter(ctx *simulator.Context, w *watch, req *types.CreateFilter) *vmFilter {
	spec := req.Spec
	if len(spec.ObjectSet) != 1 || len(spec.PropSet) != 1 || spec.PropSet[0].Type != "VirtualMachine" {
		return nil
	}
	f := &vmFilter{watch: w, paths: spec.PropSet[0].PathSet}
	switch view := ctx.Session.Get(spec.ObjectSet[0].Obj).(type) {
	case *simulator.ListView:
		f.members = map[types.ManagedObjectReference]bool{}
	case *simulator.ContainerView:
		root := ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.RootFolder
		if !view.Recursive || view.Container != root || !slices.Equal(f.paths, []string{uuidPath}) {
			return nil
		}
	default:
		return nil
	}
	f.Spec, f.PartialUpdates = spec, req.PartialUpdates
	f.Self = sessionReference(ctx, "PropertyFilter")
	ctx.Session.Put(f)
	ctx.Map.AddHandler(f)
	f.restart(ctx)
	return f
}

// view is what the filter starts at.
func (f *vmFilter) view() types.ManagedObjectReference {
	return f.Spec.ObjectSet[0].Obj
}

// restart tells of all machines from the beginning.
func (f *vmFilter) restart(ctx *simulator.Context) {
	f.mu.Lock()
	f.told = map[types.ManagedObjectReference]string{}
	f.queue, f.due = nil, map[types.ManagedObjectReference]*due{}
	if f.members != nil {
		clear(f.members)
	}
	f.mu.Unlock()
	if list, ok := ctx.Session.Get(f.view()).(*simulator.ListView); ok {
		ctx.WithLock(list, func() { f.list(list.View) })
		return
	}
	for _, vm := range ctx.Map.All("VirtualMachine") {
		f.enqueue(vm.Reference(), func(*due) {})
	}
}

// list takes over the members of the list.
func (f *vmFilter) list(view []types.ManagedObjectReference) {
	members := map[types.ManagedObjectReference]bool{}
	for _, ref := range view {
		members[ref] = true
	}
	f.mu.Lock()
	before := f.members
	f.members = members
	f.mu.Unlock()
	for ref := range before {
		if !members[ref] {
			f.enqueue(ref, func(*due) {})
		}
	}
	for _, ref := range view {
		if !before[ref] {
			f.enqueue(ref, func(*due) {})
		}
	}
}

func (f *vmFilter) enqueue(ref types.ManagedObjectReference, because func(*due)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, queued := f.due[ref]
	if !queued {
		d = &due{}
		f.due[ref] = d
		f.queue = append(f.queue, ref)
	}
	because(d)
	f.watch.signal()
}

// lost is told of a machine in an answer that the client has not received. If it has left by now, that is told once more.
func (f *vmFilter) lost(ref types.ManagedObjectReference) {
	f.mu.Lock()
	if _, told := f.told[ref]; !told {
		f.told[ref] = ""
	}
	f.mu.Unlock()
	f.enqueue(ref, func(d *due) { d.again = true })
}

// take tells of at most so many machines, and reports whether more are queued.
func (f *vmFilter) take(ctx *simulator.Context, atMost int) (updates []types.ObjectUpdate, more bool, fault types.BaseMethodFault) {
	for len(updates) < atMost {
		f.mu.Lock()
		if len(f.queue) == 0 {
			f.mu.Unlock()
			return updates, false, nil
		}
		ref := f.queue[0]
		d := f.due[ref]
		f.queue = f.queue[1:]
		delete(f.due, ref)
		f.mu.Unlock()
		update, fault := f.update(ctx, ref, d)
		if fault != nil {
			for _, each := range updates {
				f.lost(each.Obj)
			}
			f.enqueue(ref, func(again *due) { *again = *d })
			return nil, false, fault
		}
		if update != nil {
			updates = append(updates, *update)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return updates, len(f.queue) > 0, nil
}

// update is what there is to tell of a machine; nil where that is nothing.
func (f *vmFilter) update(ctx *simulator.Context, ref types.ManagedObjectReference, d *due) (*types.ObjectUpdate, types.BaseMethodFault) {
	exists := !d.removed && ctx.Map.Get(ref) != nil
	f.mu.Lock()
	before, told := f.told[ref]
	if !exists || f.members != nil && !f.members[ref] {
		delete(f.told, ref)
		f.mu.Unlock()
		if !told {
			return nil, nil
		}
		return &types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindLeave}, nil
	}
	if told && !d.again && len(d.paths) == 0 {
		f.mu.Unlock()
		return nil, nil
	}
	// Before it is read: what changes meanwhile is told next.
	f.told[ref] = before
	f.mu.Unlock()

	update := &types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindModify}
	paths := d.paths
	if !told || d.again {
		update.Kind, paths = types.ObjectUpdateKindEnter, f.paths
	}
	values, fault := f.watch.read(ctx, ref, paths)
	if fault != nil {
		return nil, fault
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if values == nil {
		// It has gone meanwhile; that is told of a machine that the client knows.
		if !told {
			delete(f.told, ref)
		}
		return nil, nil
	}
	if f.members == nil {
		uuid, _ := values[uuidPath].(string)
		if update.Kind == types.ObjectUpdateKindModify && uuid == before {
			return nil, nil
		}
		f.told[ref] = uuid
	}
	for _, path := range paths {
		if value, ok := values[path]; ok {
			update.ChangeSet = append(update.ChangeSet, types.PropertyChange{Name: path, Op: types.PropertyChangeOpAssign, Val: value})
		} else if update.Kind == types.ObjectUpdateKindModify {
			update.ChangeSet = append(update.ChangeSet, types.PropertyChange{Name: path, Op: types.PropertyChangeOpIndirectRemove})
		}
	}
	return update, nil
}

// PutObject is called for each object that enters the inventory.
func (f *vmFilter) PutObject(_ *simulator.Context, o mo.Reference) {
	if ref := o.Reference(); f.watches(ref) {
		f.enqueue(ref, func(d *due) { d.again, d.removed = true, false })
	}
}

// RemoveObject is called before an object leaves the inventory.
func (f *vmFilter) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	if f.watches(ref) {
		f.enqueue(ref, func(d *due) { d.removed = true })
	}
}

// UpdateObject is called for each change.
func (f *vmFilter) UpdateObject(_ *simulator.Context, o mo.Reference, changes []types.PropertyChange) {
	ref := o.Reference()
	if list, ok := o.(*mo.ListView); ok && ref == f.view() {
		f.list(list.View)
		return
	}
	if !f.watches(ref) {
		return
	}
	var changed []string
	for _, path := range f.paths {
		if slices.ContainsFunc(changes, func(change types.PropertyChange) bool { return overlap(path, change.Name) }) {
			changed = append(changed, path)
		}
	}
	if len(changed) == 0 {
		return
	}
	f.enqueue(ref, func(d *due) {
		for _, path := range changed {
			if !slices.Contains(d.paths, path) {
				d.paths = append(d.paths, path)
			}
		}
	})
}

func (f *vmFilter) watches(ref types.ManagedObjectReference) bool {
	if ref.Type != "VirtualMachine" {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members == nil || f.members[ref]
}

// overlap reports whether one of two paths is the other, or within it.
func overlap(a, b string) bool {
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return within(a, b) || within(b, a)
}

func (f *vmFilter) DestroyPropertyFilter(ctx *simulator.Context, _ *types.DestroyPropertyFilter) soap.HasFault {
	f.watch.remove(f)
	f.end(ctx)
	return &methods.DestroyPropertyFilterBody{Res: &types.DestroyPropertyFilterResponse{}}
}

func (f *vmFilter) end(ctx *simulator.Context) {
	ctx.Map.RemoveHandler(f)
	ctx.Session.Remove(ctx, f.Self)
}
