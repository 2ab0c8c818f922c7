package main

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// fault is what goes wrong with calls that match it.
type fault struct {
	ID int `json:"id"`
	// Operation as the counter names it; "*" is every call.
	Operation string `json:"operation"`
	// Object is a reference's value, such as "vm-52", that must occur in the request or its path; for kind "spoiled" in the
	// answer.
	Object string `json:"object,omitempty"`
	// Kind is one of the keys of answers.
	Kind string `json:"kind"`
	// Status of kinds "status", "lost" and "cut".
	Status int `json:"status,omitempty"`
	// Fault of kinds "fault" and "spoiled": the name of a vim25 fault; "spoiled" without one hangs.
	Fault string `json:"fault,omitempty"`
	// Its message, where it is not the same text.
	Text string `json:"text,omitempty"`
	// Milliseconds of kinds "delay", "late" and "cut".
	Milliseconds int `json:"milliseconds,omitempty"`
	// Bytes of kind "huge".
	Bytes int `json:"bytes,omitempty"`
	// After lets so many calls pass first.
	After int `json:"after,omitempty"`
	// Times is how many calls it spoils; 0 is all, until cleared.
	Times int `json:"times,omitempty"`
	// Hits is how many it has spoiled.
	Hits int `json:"hits"`

	cleared chan struct{}
}

func (f *fault) validate() error {
	if f.Operation == "" {
		return fmt.Errorf("a fault needs an operation, or \"*\"")
	}
	if _, ok := answers[f.Kind]; !ok {
		return fmt.Errorf("unknown kind of fault %q", f.Kind)
	}
	if f.Kind == "status" && f.Status < 100 {
		return fmt.Errorf("a fault of kind status needs a status")
	}
	if f.Kind == "fault" && f.Fault == "" {
		return fmt.Errorf("a fault of kind fault needs the fault's name")
	}
	return nil
}

func (f *fault) matches(c *call) bool {
	if f.Operation != "*" && f.Operation != c.operation {
		return false
	}
	if f.Times > 0 && f.Hits >= f.Times {
		return false
	}
	if f.Object == "" || f.Kind == "spoiled" {
		return true
	}
	return mentions(c.body, f.Object) || mentions([]byte(c.request.URL.Path), f.Object)
}

// mentions tells whether the object occurs as a whole word: vm-5 is not in vm-52.
func mentions(body []byte, object string) bool {
	for {
		at := bytes.Index(body, []byte(object))
		if at < 0 {
			return false
		}
		body = body[at+len(object):]
		if len(body) == 0 || body[0] < '0' || body[0] > '9' {
			return true
		}
	}
}

// faultSet holds the faults in the order in which they were set; the first that matches counts.
type faultSet struct {
	any  atomic.Bool
	mu   sync.Mutex
	last int
	list []*fault
}

func (s *faultSet) match(c *call) *fault {
	if !s.any.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.list {
		if !f.matches(c) {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		f.Hits++
		return f
	}
	return nil
}

func (s *faultSet) add(f *fault) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	f.ID = s.last
	f.Hits = 0
	f.cleared = make(chan struct{})
	s.list = append(s.list, f)
	s.any.Store(true)
	return f.ID
}

// clear removes the fault with this ID, or all for 0, and lets go of the calls that they hold.
func (s *faultSet) clear(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(f *fault) bool {
		if id != 0 && f.ID != id {
			return false
		}
		close(f.cleared)
		return true
	})
	s.any.Store(len(s.list) > 0)
}

func (s *faultSet) read() []fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []fault{}
	for _, f := range s.list {
		list = append(list, *f)
	}
	return list
}
