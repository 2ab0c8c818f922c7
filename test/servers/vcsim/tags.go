package main

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"sync"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"
)

// attachment is a tag on an object; category and tag are created where they do not exist.
type attachment struct {
	Category string `json:"category"`
	Tag      string `json:"tag"`
	// Object is a reference's value or the name of an inventory object.
	Object string `json:"object"`
	// Detach takes the tag off instead.
	Detach bool `json:"detach"`
}

// tagStore reaches into the REST side of the simulator, so that setting a scene neither counts as calls nor takes a
// session. The simulator's handler is of a private type with public fields.
type tagStore struct {
	sync.Locker
	attach, detach func(types.ManagedObjectReference, string) types.BaseMethodFault
	fields         reflect.Value
	// agents has what each session's client called itself at its login.
	agents map[string]string
}

func newTagStore(service *simulator.Service) *tagStore {
	handler, _ := service.ServeMux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/rest/"}})
	side := handler.(interface {
		sync.Locker
		AttachTag(types.ManagedObjectReference, string) types.BaseMethodFault
		DetachTag(types.ManagedObjectReference, string) types.BaseMethodFault
	})
	return &tagStore{side, side.AttachTag, side.DetachTag, reflect.ValueOf(handler).Elem(), map[string]string{}}
}

func (s *tagStore) apply(ctx *simulator.Context, a *attachment) error {
	ref, err := lookupObject(ctx, a.Object)
	if err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	id := s.tag(s.category(a.Category), a.Tag)
	change := s.attach
	if a.Detach {
		change = s.detach
	}
	if fault := change(ref, id); fault != nil {
		return fmt.Errorf("tag %q on %q: %T", a.Tag, a.Object, fault)
	}
	return nil
}

func (s *tagStore) category(name string) string {
	categories := s.fields.FieldByName("Category").Interface().(map[string]*tags.Category)
	for id, category := range categories {
		if category.Name == name {
			return id
		}
	}
	id := "urn:vmomi:InventoryServiceCategory:" + stable(name) + ":GLOBAL"
	categories[id] = &tags.Category{ID: id, Name: name, Cardinality: "MULTIPLE"}
	return id
}

func (s *tagStore) tag(category, name string) string {
	all := s.fields.FieldByName("Tag").Interface().(map[string]*tags.Tag)
	for id, tag := range all {
		if tag.CategoryID == category && tag.Name == name {
			return id
		}
	}
	id := "urn:vmomi:InventoryServiceTag:" + stable(category+name) + ":GLOBAL"
	all[id] = &tags.Tag{ID: id, Name: name, CategoryID: category}
	associations := s.fields.FieldByName("Association")
	associations.SetMapIndex(reflect.ValueOf(id), reflect.MakeMap(associations.Type().Elem()))
	return id
}

// sessions says, of each REST session that has neither been ended nor run out, what its client called itself at its login.
func (s *tagStore) sessions() []string {
	s.Lock()
	defer s.Unlock()
	agents := []string{}
	for id := range s.fields.FieldByName("Session").Interface().(map[string]*rest.Session) {
		agents = append(agents, s.agents[id])
	}
	return agents
}

// opened is told of each login.
func (s *tagStore) opened(id, agent string) {
	s.Lock()
	defer s.Unlock()
	s.agents[id] = agent
}

// setSession adds a REST session, or with nil takes it away; it counts as any other.
func (s *tagStore) setSession(id string, session *rest.Session) {
	s.Lock()
	defer s.Unlock()
	all := s.fields.FieldByName("Session").Interface().(map[string]*rest.Session)
	if session == nil {
		delete(all, id)
		return
	}
	all[id] = session
}

func (s *tagStore) endSessions() {
	s.Lock()
	defer s.Unlock()
	s.fields.FieldByName("Session").Clear()
}

func stable(name string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("rollcall/tags/"+name)).String()
}

func lookupObject(ctx *simulator.Context, id string) (types.ManagedObjectReference, error) {
	for _, entity := range ctx.Map.All("") {
		if ref := entity.Reference(); ref.Value == id || entity.Entity().Name == id {
			return ref, nil
		}
	}
	return types.ManagedObjectReference{}, fmt.Errorf("no inventory object %q", id)
}
