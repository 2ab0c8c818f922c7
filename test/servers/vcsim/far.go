package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// far is a proxy before a vCenter at another site: it takes its time for each call, ends those to which nothing is answered
// for long, and fails one in so many.
type far struct {
	mu    sync.Mutex
	way   way
	calls int
}

// way is how far it is. Times are milliseconds; 0 leaves a part out.
type way struct {
	// Least and Most bound the delay of each call.
	Least int `json:"least"`
	Most  int `json:"most"`
	// Silence is how long an answer may take before the proxy answers 504; vCenter goes on, and nobody hears of it.
	Silence int `json:"silence"`
	// Every so many calls one is answered with a fault, and does not reach vCenter.
	Every int `json:"every"`
}

func (f *far) handle(mux *http.ServeMux) {
	mux.HandleFunc("PUT /far", answer(func(r *http.Request) (any, error) {
		var way way
		if err := decode(r, &way); err != nil {
			return nil, err
		}
		if way.Least < 0 || way.Most < way.Least {
			return nil, fmt.Errorf("a delay is from 0 on, and most is at least least")
		}
		f.mu.Lock()
		f.way = way
		f.mu.Unlock()
		return nil, nil
	}))
}

// answer lets next answer as the way allows; false where vCenter is near, and nothing was done.
func (f *far) answer(w http.ResponseWriter, c *call, next http.Handler) bool {
	f.mu.Lock()
	way := f.way
	f.calls++
	fails := way.Every > 0 && f.calls%way.Every == 0
	f.mu.Unlock()
	if way == near {
		return false
	}
	delay := way.Least + rand.IntN(way.Most-way.Least+1)
	select {
	case <-c.request.Context().Done():
		panic(http.ErrAbortHandler)
	case <-time.After(time.Duration(delay) * time.Millisecond):
	}
	if fails {
		(&fault{Kind: "fault", Fault: "SystemError"}).answer(w, c, next)
		return true
	}
	if way.Silence == 0 {
		next.ServeHTTP(w, c.request)
		return true
	}
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		defer close(done)
		// A fault may drop the connection, which is for this side to do.
		defer func() { _ = recover() }()
		recorded, _ := record(c, next)
		done <- recorded
	}()
	select {
	case recorded := <-done:
		if recorded == nil {
			panic(http.ErrAbortHandler)
		}
		send(w, recorded, recorded.Body.Bytes())
	case <-time.After(time.Duration(way.Silence) * time.Millisecond):
		http.Error(w, http.StatusText(http.StatusGatewayTimeout), http.StatusGatewayTimeout)
	}
	return true
}

var near way
