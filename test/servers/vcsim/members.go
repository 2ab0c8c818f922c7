package main

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// knownMembers is what the client of a collector knows of the objects that it watches. The simulator tells of all members
// of a list again whenever the list changes, and never of those that have left it. vCenter tells what has changed.
type knownMembers struct {
	mu sync.Mutex
	// told are the objects that have entered and not left, each with the hash of its properties as it entered; 0 is
	// unknown.
	told map[types.ManagedObjectReference]uint64
	// telling are the objects that the next answer tells of.
	telling []types.ManagedObjectReference
	// answers are those that the client may not have got, by version, each with the objects that it tells of.
	answers map[string][]types.ManagedObjectReference
}

var memberSeed = maphash.MakeSeed()

// asked takes back what an answer has told that the client does not ask on from.
func (m *knownMembers) asked(version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if version == "" {
		m.told, m.answers = nil, nil
	}
	for lost, objects := range m.answers {
		if lost == version {
			continue
		}
		// Of one that has left, it is told again that it leaves.
		for _, object := range objects {
			m.told[object] = 0
		}
	}
	m.answers = nil
}

func (m *knownMembers) answered(version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil {
		m.answers = map[string][]types.ManagedObjectReference{}
	}
	m.answers[version] = m.telling
	m.telling = nil
}

// tellChanges takes from the answer what the client knows, and adds who has left.
func (m *knownMembers) tellChanges(ctx *simulator.Context, filters []types.ManagedObjectReference, answer *types.WaitForUpdatesExResponse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told == nil {
		m.told = map[types.ManagedObjectReference]uint64{}
	}
	if set := answer.Returnval; set != nil {
		for i := range set.FilterSet {
			filter := &set.FilterSet[i]
			filter.ObjectSet = slices.DeleteFunc(filter.ObjectSet, m.knows)
		}
		set.FilterSet = slices.DeleteFunc(set.FilterSet, func(filter types.PropertyFilterUpdate) bool {
			return len(filter.ObjectSet) == 0
		})
	}
	left := m.left(ctx, filters)
	if len(left) > 0 {
		if answer.Returnval == nil {
			answer.Returnval = &types.UpdateSet{}
		}
		answer.Returnval.FilterSet = append(answer.Returnval.FilterSet, types.PropertyFilterUpdate{Filter: filters[0], ObjectSet: left})
	}
	if set := answer.Returnval; set != nil {
		for _, filter := range set.FilterSet {
			for _, update := range filter.ObjectSet {
				m.telling = append(m.telling, update.Obj)
			}
		}
	}
}

// knows reports whether an update tells of an object what was told before, and remembers what it tells.
func (m *knownMembers) knows(update types.ObjectUpdate) bool {
	before, told := m.told[update.Obj]
	switch update.Kind {
	case types.ObjectUpdateKindLeave:
		delete(m.told, update.Obj)
		return !told
	case types.ObjectUpdateKindModify:
		m.told[update.Obj] = 0
		return false
	default:
		now := hashOf(update.ChangeSet)
		m.told[update.Obj] = now
		return told && now != 0 && before == now
	}
}

// hashOf is 0 for what has none.
func hashOf(changes []types.PropertyChange) uint64 {
	text, err := json.Marshal(changes)
	if err != nil {
		return 0
	}
	return maphash.Bytes(memberSeed, text)
}

// left are the objects that were told of and are on no list any more, or nowhere.
func (m *knownMembers) left(ctx *simulator.Context, filters []types.ManagedObjectReference) []types.ObjectUpdate {
	if len(filters) == 0 {
		return nil
	}
	listed, onLists := membersOf(ctx, filters)
	var left []types.ObjectUpdate
	for object := range m.told {
		if ctx.Map.Get(object) == nil || onLists && !listed[object] {
			left = append(left, types.ObjectUpdate{Obj: object, Kind: types.ObjectUpdateKindLeave})
			delete(m.told, object)
		}
	}
	return left
}

// membersOf are those of the lists that the filters begin at, and false where one begins elsewhere.
func membersOf(ctx *simulator.Context, filters []types.ManagedObjectReference) (map[types.ManagedObjectReference]bool, bool) {
	listed := map[types.ManagedObjectReference]bool{}
	for _, ref := range filters {
		filter, ok := ctx.Session.Get(ref).(*simulator.PropertyFilter)
		if !ok {
			return nil, false
		}
		for _, start := range filter.Spec.ObjectSet {
			list, ok := ctx.Session.Get(start.Obj).(*simulator.ListView)
			if !ok {
				return nil, false
			}
			ctx.WithLock(list, func() {
				for _, member := range list.View {
					listed[member] = true
				}
			})
		}
	}
	return listed, true
}
