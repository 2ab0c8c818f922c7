package main

import (
	"fmt"
	"net/http"
	"regexp"
	"sync"
)

// lostViews ends all sessions while a client reads what stands in a view, and says with HTTP status 200 that nothing
// does: the view has ended with the session that made it, and vCenter notices the one before the other.
type lostViews struct {
	// end is control's endSessions.
	end func() error

	mu sync.Mutex
	// kind of the view that is to be lost, as "ListView"; "" is none.
	kind string
	// pages that the read gets first.
	pages int
	// reader is the collector that reads such a view; "" is none.
	reader string
	// left are the pages that it still gets.
	left int
}

var startPattern = regexp.MustCompile(`<(?:\w+:)?obj\b[^>]*\btype="(\w+View)"`)

// handle lets a test choose the view, and how many pages are read of it first.
func (l *lostViews) handle(mux *http.ServeMux) {
	mux.HandleFunc("POST /lost-views", answer(func(r *http.Request) (any, error) {
		var asked struct {
			Kind  string `json:"kind"`
			Pages int    `json:"pages"`
		}
		if err := decode(r, &asked); err != nil {
			return nil, err
		}
		if asked.Kind != "ContainerView" && asked.Kind != "ListView" {
			return nil, fmt.Errorf("unknown kind of view %q, known are ContainerView and ListView", asked.Kind)
		}
		if asked.Pages < 0 {
			return nil, fmt.Errorf("a read cannot have %d pages", asked.Pages)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.kind, l.pages, l.reader = asked.Kind, asked.Pages, ""
		return nil, nil
	}))
}

// answer reports whether it has answered in the simulator's place.
func (l *lostViews) answer(w http.ResponseWriter, c *call) bool {
	if !l.takes(c) {
		return false
	}
	if err := l.end(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return true
	}
	nothing(w, c.operation, "<returnval></returnval>")
	return true
}

// takes reports whether this call is the one, after which there is none.
func (l *lostViews) takes(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kind == "" {
		return false
	}
	this := thisPattern.FindSubmatch(c.body)
	if this == nil {
		return false
	}
	collector := string(this[2])
	switch c.operation {
	case "RetrievePropertiesEx":
		start := startPattern.FindSubmatch(c.body)
		if start == nil || string(start[1]) != l.kind {
			return false
		}
		l.reader, l.left = collector, l.pages
	case "ContinueRetrievePropertiesEx":
		if collector != l.reader {
			return false
		}
	default:
		return false
	}
	if l.left > 0 {
		l.left--
		return false
	}
	l.kind = ""
	return true
}
