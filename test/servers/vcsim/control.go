package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// control is the test's side of the simulator, as JSON over HTTP.
type control struct {
	// mu keeps changes apart: the simulator's locks let the same context in twice.
	mu      sync.Mutex
	ctx     *simulator.Context
	service *simulator.Service
	front   *front
	tags    *tagStore
	veil    *veil
	// inventory makes further machines like those from the start.
	inventory *inventory
}

func newControl(service *simulator.Service, front *front, inv *inventory, content types.ServiceContent, renewals *renewals) http.Handler {
	c := &control{ctx: service.Context, service: service, front: front, tags: newTagStore(service), veil: newVeil(), inventory: inv}
	front.next = &sharedSessions{next: front.next, tags: c.tags, ctx: c.ctx, user: service.Listen.User.Username()}
	c.veil.enforce(c.ctx, content)
	views := &listViews{veil: c.veil}
	views.enforce(c.ctx)
	scopeSearches(c.ctx)
	pushReconfiguredUUIDs(c.ctx)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /vms", answer(func(*http.Request) (any, error) { return machines(c.ctx, c.all()), nil }))
	mux.HandleFunc("POST /guest", answer(eachVM(c, (*guestData).apply, func(g *guestData) string { return g.VM })))
	mux.HandleFunc("POST /state", answer(eachVM(c, (*machineState).apply, func(s *machineState) string { return s.VM })))
	mux.HandleFunc("POST /guestinfo", answer(eachVM(c, (*guestVariable).apply, func(v *guestVariable) string { return v.VM })))
	mux.HandleFunc("GET /guestinfo", answer(c.guestinfo))
	mux.HandleFunc("POST /rpc", answer(c.rpc))
	mux.HandleFunc("POST /tags", answer(c.tag))
	c.handleScenes(mux)
	c.handleCollectors(mux)
	c.handleFaultTolerance(mux)
	renewals.handle(mux)
	front.age.handle(mux)
	front.far.handle(mux)
	front.lost.end = c.endSessions
	front.lost.handle(mux)
	views.handle(mux)
	mux.HandleFunc("GET /calls", answer(func(*http.Request) (any, error) { return c.front.calls.read(), nil }))
	mux.HandleFunc("GET /bytes", answer(func(*http.Request) (any, error) { return c.front.bytes.read(), nil }))
	mux.HandleFunc("GET /operation-ids", answer(func(*http.Request) (any, error) { return c.front.ids.read(), nil }))
	mux.HandleFunc("DELETE /calls", answer(func(*http.Request) (any, error) {
		c.front.calls.reset()
		c.front.bytes.reset()
		c.front.ids.reset()
		return nil, nil
	}))
	mux.HandleFunc("GET /sessions", answer(c.sessions))
	mux.HandleFunc("DELETE /sessions", answer(func(*http.Request) (any, error) { return nil, c.endSessions() }))
	mux.HandleFunc("GET /faults", answer(func(*http.Request) (any, error) { return c.front.faults.read(), nil }))
	mux.HandleFunc("POST /faults", answer(c.addFault))
	mux.HandleFunc("DELETE /faults", answer(c.clearFaults))
	return mux
}

// serveControl listens on a free port of loopback and returns its address.
func serveControl(handler http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = http.Serve(listener, handler) }()
	return "http://" + listener.Addr().String(), nil
}

// answer writes what f returns as JSON; an error is the caller's mistake.
func answer(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := f(r)
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			value = map[string]string{"error": err.Error()}
		}
		_ = json.NewEncoder(w).Encode(value)
	}
}

// eachVM applies a list of changes, each to its own machine.
func eachVM[T any](c *control, apply func(*T, *simulator.Context, *simulator.VirtualMachine) error, vmOf func(*T) string) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		var list []T
		if err := decode(r, &list); err != nil {
			return nil, err
		}
		for i := range list {
			if err := c.withVM(vmOf(&list[i]), func(vm *simulator.VirtualMachine) error { return apply(&list[i], c.ctx, vm) }); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
}

func (c *control) withVM(id string, f func(*simulator.VirtualMachine) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	vm, err := c.lookup(id)
	if err != nil {
		return err
	}
	c.ctx.WithLock(vm, func() { err = f(vm) })
	return err
}

func (c *control) guestinfo(r *http.Request) (any, error) {
	var value *string
	err := c.withVM(r.URL.Query().Get("vm"), func(vm *simulator.VirtualMachine) error {
		if found, ok := read(vm, r.URL.Query().Get("key")); ok {
			value = &found
		}
		return nil
	})
	return map[string]*string{"value": value}, err
}

func (c *control) rpc(r *http.Request) (any, error) {
	var asked guestCall
	if err := decode(r, &asked); err != nil {
		return nil, err
	}
	var answered guestAnswer
	err := c.withVM(asked.VM, func(vm *simulator.VirtualMachine) error {
		answered = asked.answer(c.ctx, vm)
		return nil
	})
	return answered, err
}

func (c *control) tag(r *http.Request) (any, error) {
	var list []attachment
	if err := decode(r, &list); err != nil {
		return nil, err
	}
	for i := range list {
		if err := c.tags.apply(c.ctx, &list[i]); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// sessions counts the live ones on both sides, and says what their clients called themselves at their login.
func (c *control) sessions(*http.Request) (any, error) {
	_, soap, err := c.soapSessions()
	userAgents := []string{}
	for _, session := range soap {
		userAgents = append(userAgents, session.UserAgent)
	}
	rest := c.tags.sessions()
	return map[string]any{"soap": len(soap), "rest": len(rest), "userAgents": userAgents, "restUserAgents": rest}, err
}

// endSessions does what a restart of vCenter's services does to its clients.
func (c *control) endSessions() error {
	client, sessions, err := c.soapSessions()
	if err != nil {
		return err
	}
	c.tags.endSessions()
	var keys []string
	for _, session := range sessions {
		keys = append(keys, session.Key)
	}
	_, err = methods.TerminateSession(context.Background(), client, &types.TerminateSession{
		This:      *client.ServiceContent.SessionManager,
		SessionId: keys,
	})
	return err
}

// soapSessions asks as a client would, for the simulator tells nobody else; the client is in-process and has no session
// of its own.
func (c *control) soapSessions() (*vim25.Client, []types.UserSession, error) {
	ctx := context.Background()
	client, err := vim25.NewClient(ctx, c.service)
	if err != nil {
		return nil, nil, err
	}
	var manager mo.SessionManager
	err = property.DefaultCollector(client).RetrieveOne(ctx, *client.ServiceContent.SessionManager, []string{"sessionList"}, &manager)
	return client, manager.SessionList, err
}

func (c *control) addFault(r *http.Request) (any, error) {
	f := new(fault)
	if err := decode(r, f); err != nil {
		return nil, err
	}
	if err := f.validate(); err != nil {
		return nil, err
	}
	return map[string]int{"id": c.front.faults.add(f)}, nil
}

func (c *control) clearFaults(r *http.Request) (any, error) {
	id := 0
	if text := r.URL.Query().Get("id"); text != "" {
		var err error
		if id, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("fault ID: %w", err)
		}
	}
	c.front.faults.clear(id)
	return nil, nil
}

func decode(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
