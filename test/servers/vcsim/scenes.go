package main

import (
	"net/http"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// handleScenes serves what happens to many machines at once, to their places and to the account's privileges.
func (c *control) handleScenes(mux *http.ServeMux) {
	mux.HandleFunc("POST /hide", answer(changed(c, func(ids *[]string) error {
		refs, err := c.refs(*ids)
		if err == nil {
			c.veil.hide(c.ctx, refs)
		}
		return err
	})))
	mux.HandleFunc("POST /show", answer(changed(c, func(ids *[]string) error {
		refs, err := c.refs(*ids)
		if err == nil {
			c.veil.show(c.ctx, refs)
		}
		return err
	})))
	mux.HandleFunc("POST /revoke", answer(changed(c, func(r *revocation) error {
		ref, err := c.object(r.Object)
		if err != nil {
			return err
		}
		return c.veil.revoke(c.ctx, ref, r.As, r.Alone)
	})))
	mux.HandleFunc("POST /restore", answer(changed(c, func(r *revocation) error {
		if r.Object == "" {
			return c.veil.restore(c.ctx, nil)
		}
		ref, err := c.object(r.Object)
		if err != nil {
			return err
		}
		return c.veil.restore(c.ctx, &ref)
	})))
	mux.HandleFunc("POST /move", answer(changed(c, c.move)))
	mux.HandleFunc("POST /host", answer(changed(c, func(s *hostState) error { return s.apply(c) })))
	mux.HandleFunc("DELETE /tasks", answer(changed(c, func(e *taskEnd) error { return e.apply(c) })))
	mux.HandleFunc("POST /tasks", answer(func(r *http.Request) (any, error) {
		var ref string
		_, err := changed(c, func(t *task) (err error) { ref, err = t.start(c); return err })(r)
		return map[string]string{"task": ref}, err
	}))
	mux.HandleFunc("POST /register", answer(made(c, func(r *registration) (types.ManagedObjectReference, error) {
		return c.register(r.VM)
	})))
	mux.HandleFunc("POST /create", answer(made(c, c.create)))
	mux.HandleFunc("POST /destroy", answer(changed(c, func(d *destruction) error { return d.apply(c) })))
}

// changed decodes what is asked for and does it, one at a time.
func changed[T any](c *control, apply func(*T) error) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		asked := new(T)
		if err := decode(r, asked); err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return nil, apply(asked)
	}
}

// made answers with the machine that there is afterwards.
func made[T any](c *control, apply func(*T) (types.ManagedObjectReference, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		var ref types.ManagedObjectReference
		_, err := changed(c, func(asked *T) (err error) { ref, err = apply(asked); return err })(r)
		if err != nil {
			return nil, err
		}
		vm, err := c.lookup(ref.Value)
		if err != nil {
			return nil, err
		}
		return machines(c.ctx, []*simulator.VirtualMachine{vm})[0], nil
	}
}

func (c *control) refs(ids []string) ([]types.ManagedObjectReference, error) {
	refs := []types.ManagedObjectReference{}
	for _, id := range ids {
		vm, err := c.lookup(id)
		if err != nil {
			return nil, err
		}
		refs = append(refs, vm.Self)
	}
	return refs, nil
}

// revocation is of the privileges on an object and all below it.
type revocation struct {
	// Object by reference, name or inventory path.
	Object string `json:"object"`
	// As is how reads are refused.
	As string `json:"as"`
	// Alone leaves those on what is below it.
	Alone bool `json:"alone"`
}

type registration struct {
	VM string `json:"vm"`
}
