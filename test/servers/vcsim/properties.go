package main

import (
	"net/http"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// properties is what clients are told of single properties otherwise than the simulator would. It is the process's own,
// as pageLimit is.
var properties = &propertyRules{
	denied: map[types.ManagedObjectReference][]string{},
	stray:  map[types.ManagedObjectReference]bool{},
	told:   map[types.ManagedObjectReference][]types.PropertyChange{},
}

type propertyRules struct {
	mu sync.Mutex
	// denied are paths that the account may not read.
	denied map[types.ManagedObjectReference][]string
	// stray are objects of which the same is said as to one without a session, though the session lives.
	stray map[types.ManagedObjectReference]bool
	// told are changes that the next update of an object tells in place of its own.
	told map[types.ManagedObjectReference][]types.PropertyChange
}

func (p *propertyRules) missing(ref types.ManagedObjectReference, path string) *types.MissingProperty {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.denied[ref], path) {
		return nil
	}
	var fault types.BaseMethodFault = noPermission(ref)
	if p.stray[ref] {
		fault = &types.NotAuthenticated{NoPermission: *noPermission(ref)}
	}
	return &types.MissingProperty{Path: path, Fault: types.LocalizedMethodFault{Fault: fault}}
}

// withhold answers with NoPermission for each property of these objects that may not be read, and with all others.
func (p *propertyRules) withhold(objects []types.ObjectContent, specs []types.PropertyFilterSpec) {
	for i := range objects {
		o := &objects[i]
		for _, path := range pathsOf(specs, o.Obj.Type) {
			missing := p.missing(o.Obj, path)
			if missing == nil {
				continue
			}
			o.PropSet = slices.DeleteFunc(o.PropSet, func(each types.DynamicProperty) bool { return each.Name == path })
			o.MissingSet = append(o.MissingSet, *missing)
		}
	}
}

// retell makes updates say what vCenter's do: NoPermission for what may not be read, something of each property that an
// object has not set when it enters, and whatever a test wants to be told.
func (p *propertyRules) retell(set *types.UpdateSet, spec func(filter types.ManagedObjectReference) []types.PropertyFilterSpec) {
	for i := range set.FilterSet {
		filter := &set.FilterSet[i]
		specs := spec(filter.Filter)
		for j := range filter.ObjectSet {
			update := &filter.ObjectSet[j]
			if update.Kind == types.ObjectUpdateKindLeave {
				continue
			}
			p.mu.Lock()
			if told, ok := p.told[update.Obj]; ok && update.Kind == types.ObjectUpdateKindModify {
				update.ChangeSet = told
				delete(p.told, update.Obj)
			}
			p.mu.Unlock()
			p.retellObject(update, pathsOf(specs, update.Obj.Type))
		}
	}
}

func (p *propertyRules) retellObject(update *types.ObjectUpdate, paths []string) {
	unset := []types.PropertyChangeOp{types.PropertyChangeOpIndirectRemove, types.PropertyChangeOpAssign}
	for n, path := range paths {
		at := slices.IndexFunc(update.ChangeSet, func(each types.PropertyChange) bool { return each.Name == path })
		if missing := p.missing(update.Obj, path); missing != nil {
			if at >= 0 {
				update.ChangeSet = slices.Delete(update.ChangeSet, at, at+1)
			}
			if at >= 0 || update.Kind == types.ObjectUpdateKindEnter {
				update.MissingSet = append(update.MissingSet, *missing)
			}
			continue
		}
		if at < 0 && update.Kind == types.ObjectUpdateKindEnter {
			update.ChangeSet = append(update.ChangeSet, types.PropertyChange{Name: path, Op: unset[n%len(unset)]})
		}
	}
}

func pathsOf(specs []types.PropertyFilterSpec, kind string) []string {
	var paths []string
	for _, spec := range specs {
		for _, set := range spec.PropSet {
			if set.Type == kind {
				paths = append(paths, set.PathSet...)
			}
		}
	}
	return paths
}

// specOf finds what a filter of this session asks for.
func specOf(ctx *simulator.Context) func(types.ManagedObjectReference) []types.PropertyFilterSpec {
	return func(ref types.ManagedObjectReference) []types.PropertyFilterSpec {
		switch filter := ctx.Session.Get(ref).(type) {
		case *simulator.PropertyFilter:
			return []types.PropertyFilterSpec{filter.Spec}
		case *vmFilter:
			return []types.PropertyFilterSpec{filter.Spec}
		default:
			return nil
		}
	}
}

// denial is of properties of one machine; none gives all of them back.
type denial struct {
	VM    string   `json:"vm"`
	Paths []string `json:"paths"`
	// Stray denies by NotAuthenticated, though the session lives.
	Stray bool `json:"stray"`
}

func (c *control) deny(d *denial) error {
	vm, err := c.lookup(d.VM)
	if err != nil {
		return err
	}
	properties.mu.Lock()
	defer properties.mu.Unlock()
	properties.denied[vm.Self] = d.Paths
	properties.stray[vm.Self] = d.Stray
	return nil
}

// telling is of changes of one machine, in words of their own.
type telling struct {
	VM      string   `json:"vm"`
	Changes []change `json:"changes"`
}

type change struct {
	Name string `json:"name"`
	Op   string `json:"op"`
	// Value is a text; none is told where it is missing.
	Value *string `json:"value"`
}

// tell has those who watch the machine told of these changes.
func (c *control) tell(t *telling) error {
	vm, err := c.lookup(t.VM)
	if err != nil {
		return err
	}
	var changes []types.PropertyChange
	for _, each := range t.Changes {
		change := types.PropertyChange{Name: each.Name, Op: types.PropertyChangeOp(each.Op)}
		if each.Value != nil {
			change.Val = *each.Value
		}
		changes = append(changes, change)
	}
	properties.mu.Lock()
	properties.told[vm.Self] = changes
	properties.mu.Unlock()
	// Any change that is watched serves to wake them.
	c.ctx.WithLock(vm, func() {
		c.ctx.Update(vm, []types.PropertyChange{{Name: "runtime.powerState", Val: vm.Runtime.PowerState}})
	})
	return nil
}

func (c *control) handleProperties(mux *http.ServeMux) {
	mux.HandleFunc("POST /deny", answer(changed(c, c.deny)))
	mux.HandleFunc("POST /tell", answer(changed(c, c.tell)))
}
