package main

import (
	"fmt"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// How a read of an object is refused that the account may not see.
const (
	asFault       = "fault"
	asFaultOnRoot = "faultOnRoot"
	asMissingSet  = "missingSet"
)

// veil keeps objects from clients: as if they did not exist, or as if the account had no privilege on them. Machines
// behind it are out of the registry, so that searches, views and pushed updates are without them; control still has
// them, for their guests know nothing of it.
type veil struct {
	mu sync.RWMutex
	// gone are machines that exist for nobody.
	gone map[types.ManagedObjectReference]bool
	// revoked are objects on which, and below which, the account has no privilege, and how reads of them are refused.
	revoked map[types.ManagedObjectReference]string
	// alone are those of them below which it has its privileges, as where they were given further down.
	alone map[types.ManagedObjectReference]bool
	kept  map[types.ManagedObjectReference]*simulator.VirtualMachine
}

func newVeil() *veil {
	return &veil{
		gone:    map[types.ManagedObjectReference]bool{},
		revoked: map[types.ManagedObjectReference]string{},
		alone:   map[types.ManagedObjectReference]bool{},
		kept:    map[types.ManagedObjectReference]*simulator.VirtualMachine{},
	}
}

// entity finds an object on either side of the veil.
func (v *veil) entity(ctx *simulator.Context, ref types.ManagedObjectReference) mo.Entity {
	if vm, ok := v.kept[ref]; ok {
		return vm
	}
	entity, _ := ctx.Map.Get(ref).(mo.Entity)
	return entity
}

// refused says how a read of the object is refused; "" where the account has its privileges.
func (v *veil) refused(ctx *simulator.Context, ref types.ManagedObjectReference) string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.refusal(ctx, ref)
}

func (v *veil) refusal(ctx *simulator.Context, ref types.ManagedObjectReference) string {
	if len(v.revoked) == 0 || v.gone[ref] {
		return ""
	}
	for start := ref; ; {
		if how, ok := v.revoked[ref]; ok && (ref == start || !v.alone[ref]) {
			return how
		}
		entity := v.entity(ctx, ref)
		if entity == nil || entity.Entity().Parent == nil {
			return ""
		}
		ref = *entity.Entity().Parent
	}
}

// machine finds one behind the veil by reference or name.
func (v *veil) machine(id string) *simulator.VirtualMachine {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for ref, vm := range v.kept {
		if ref.Value == id || vm.Name == id {
			return vm
		}
	}
	return nil
}

func (v *veil) machines() []*simulator.VirtualMachine {
	v.mu.RLock()
	defer v.mu.RUnlock()
	list := []*simulator.VirtualMachine{}
	for _, vm := range v.kept {
		list = append(list, vm)
	}
	return list
}

// settle takes machines out of the registry and puts them back, as it should be by now.
func (v *veil) settle(ctx *simulator.Context) {
	v.mu.Lock()
	var leave, enter []*simulator.VirtualMachine
	for _, entity := range ctx.Map.All("VirtualMachine") {
		ref := entity.Reference()
		if v.gone[ref] || v.refusal(ctx, ref) != "" {
			vm := entity.(*simulator.VirtualMachine)
			v.kept[ref] = vm
			leave = append(leave, vm)
		}
	}
	for ref, vm := range v.kept {
		if !v.gone[ref] && v.refusal(ctx, ref) == "" {
			delete(v.kept, ref)
			enter = append(enter, vm)
		}
	}
	v.mu.Unlock()
	// The registry tells views and collectors, which may ask for refusals in turn.
	for _, vm := range leave {
		ctx.Map.Remove(ctx, vm.Self)
	}
	for _, vm := range enter {
		ctx.Map.Put(vm)
	}
}

// hide makes machines vanish for everybody, as a restored backup of vCenter does with those that are younger.
func (v *veil) hide(ctx *simulator.Context, refs []types.ManagedObjectReference) {
	v.mu.Lock()
	for _, ref := range refs {
		v.gone[ref] = true
	}
	v.mu.Unlock()
	v.settle(ctx)
}

// show brings machines back as they are; all for none.
func (v *veil) show(ctx *simulator.Context, refs []types.ManagedObjectReference) {
	v.mu.Lock()
	if len(refs) == 0 {
		clear(v.gone)
	}
	for _, ref := range refs {
		delete(v.gone, ref)
	}
	v.mu.Unlock()
	v.settle(ctx)
}

// renamed forgets a hidden machine that has another reference by now.
func (v *veil) renamed(before types.ManagedObjectReference) {
	v.mu.Lock()
	delete(v.kept, before)
	delete(v.gone, before)
	v.mu.Unlock()
}

// revoke takes the account's privileges on an object and all below it, or on it alone.
func (v *veil) revoke(ctx *simulator.Context, object types.ManagedObjectReference, how string, alone bool) error {
	if how != asFault && how != asFaultOnRoot && how != asMissingSet {
		return fmt.Errorf("unknown way to refuse %q, known are %s, %s and %s", how, asFault, asFaultOnRoot, asMissingSet)
	}
	v.mu.Lock()
	v.revoked[object] = how
	v.alone[object] = alone
	v.mu.Unlock()
	v.settle(ctx)
	return nil
}

// restore gives the privileges on an object back; on all for nil.
func (v *veil) restore(ctx *simulator.Context, object *types.ManagedObjectReference) error {
	v.mu.Lock()
	if object == nil {
		clear(v.revoked)
	} else if _, ok := v.revoked[*object]; !ok {
		v.mu.Unlock()
		return fmt.Errorf("the privileges on %s were not revoked", object.Value)
	} else {
		delete(v.revoked, *object)
	}
	v.mu.Unlock()
	v.settle(ctx)
	return nil
}
