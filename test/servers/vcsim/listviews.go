package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// listViews refuses a whole change of a list for one object of it that the account may not see, or that is gone, as a
// real vCenter does. The object that its fault names may be another. It also knows what is on the lists.
type listViews struct {
	veil *veil

	mu       sync.RWMutex
	refused  map[string]bool
	gone     bool
	nameRoot bool
	listed   map[string]bool
	// polled says that a poll has begun since the last change of a list.
	polled bool
}

// watchedVMs are those on the lists, and whether a poll has begun since they are.
type watchedVMs struct {
	VMs    []string `json:"vms"`
	Polled bool     `json:"polled"`
}

// viewRefusal is what a test asks for.
type viewRefusal struct {
	// VMs by reference that no list takes; reads of them are not affected.
	VMs []string `json:"vms"`
	// Gone says that they do not exist, instead of that they may not be seen.
	Gone bool `json:"gone"`
	// NameRoot names the root folder instead of the object, also for objects whose privileges were revoked.
	NameRoot bool `json:"nameRoot"`
}

func (l *listViews) handle(mux *http.ServeMux) {
	mux.HandleFunc("POST /list-views", answer(func(r *http.Request) (any, error) {
		var asked viewRefusal
		if err := decode(r, &asked); err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refused = map[string]bool{}
		for _, vm := range asked.VMs {
			if vm == "" {
				return nil, fmt.Errorf("a reference is empty")
			}
			l.refused[vm] = true
		}
		l.gone, l.nameRoot = asked.Gone, asked.NameRoot
		return nil, nil
	}))
	mux.HandleFunc("GET /list-views", answer(func(*http.Request) (any, error) {
		l.mu.RLock()
		defer l.mu.RUnlock()
		return watchedVMs{VMs: slices.AppendSeq([]string{}, maps.Keys(l.listed)), Polled: l.polled}, nil
	}))
}

// enforce goes before what refuses calls already.
func (l *listViews) enforce(ctx *simulator.Context) {
	next := ctx.Map.Handler
	ctx.Map.Handler = func(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		switch request := method.Body.(type) {
		case *types.ModifyListView:
			for _, ref := range append(request.Add, request.Remove...) {
				if fault := l.refusal(ctx, ref); fault != nil {
					return nil, fault
				}
			}
			l.poll(false)
			answer, fault := next(ctx, method)
			if fault == nil {
				l.change(request)
			}
			return answer, fault
		case *types.WaitForUpdatesEx:
			l.poll(true)
		}
		return next(ctx, method)
	}
}

func (l *listViews) poll(begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.polled = begun
}

func (l *listViews) change(request *types.ModifyListView) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listed == nil {
		l.listed = map[string]bool{}
	}
	for _, ref := range request.Add {
		l.listed[ref.Value] = true
	}
	for _, ref := range request.Remove {
		delete(l.listed, ref.Value)
	}
}

func (l *listViews) refusal(ctx *simulator.Context, ref types.ManagedObjectReference) types.BaseMethodFault {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.refused[ref.Value] && l.veil.refused(ctx, ref) == "" {
		return nil
	}
	if l.nameRoot {
		ref = ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.RootFolder
	}
	if l.gone {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	return &types.NoPermission{Object: &ref, PrivilegeId: "System.View"}
}
