package main

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// knownMembers is what the client of a collector knows about the objects that it watches. The simulator reports all members
// of a list again whenever the list changes, and never those that were removed. vCenter reports only what has changed.
type knownMembers struct {
	mu sync.Mutex
	// told are the objects that were reported to have entered and not to have left, each with the hash of its properties
	// when it entered; 0 if unknown.
	told map[types.ManagedObjectReference]uint64
	// telling are the objects in the next answer.
	telling []types.ManagedObjectReference
	// answers are the objects in each answer that the client may not have received, by version.
	answers map[string][]types.ManagedObjectReference
}

var memberSeed = maphash.MakeSeed()

// asked forgets what was reported in an answer whose version the client does not continue from.
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
		// For an object that has left, this reports once more that it leaves.
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

// tellChanges removes what the client knows from the answer, and adds the objects that have left.
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

// knows returns whether an update repeats what was reported before, and remembers what it reports.
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

// hashOf returns 0 where the changes cannot be encoded.
func hashOf(changes []types.PropertyChange) uint64 {
	text, err := json.Marshal(changes)
	if err != nil {
		return 0
	}
	return maphash.Bytes(memberSeed, text)
}

// left returns the objects that were reported and are no longer on a list, or no longer exist.
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

// membersOf returns the members of the lists that the filters start at, and false where one starts elsewhere.
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
