package main

import (
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// traffic is the size of answers' bodies: as sent, and before they were compressed.
type traffic struct {
	Wire     int64 `json:"wire"`
	Inflated int64 `json:"inflated"`
}

// meter counts the bytes of answers by operation.
type meter struct {
	mu          sync.Mutex
	byOperation map[string]traffic
}

func (m *meter) add(operation string, t traffic) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.byOperation[operation]
	m.byOperation[operation] = traffic{sum.Wire + t.Wire, sum.Inflated + t.Inflated}
}

func (m *meter) reset() {
	m.mu.Lock()
	clear(m.byOperation)
	m.mu.Unlock()
}

func (m *meter) read() map[string]traffic {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]traffic{}
	for operation, t := range m.byOperation {
		all[operation] = t
	}
	return all
}

// compressors are at the lowest level: a real vCenter sends no more than that.
var compressors = sync.Pool{New: func() any {
	c, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return c
}}

// answerWriter compresses where the client asked for it, as vCenter 8.0.3 does, and counts.
type answerWriter struct {
	http.ResponseWriter
	gzip    *gzip.Writer
	traffic traffic
}

func newAnswerWriter(w http.ResponseWriter, r *http.Request) *answerWriter {
	a := &answerWriter{ResponseWriter: w}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		a.gzip = compressors.Get().(*gzip.Writer)
		a.gzip.Reset(wire{a})
	}
	return a
}

func (a *answerWriter) WriteHeader(status int) {
	a.Header().Set("Vary", "Accept-Encoding")
	if a.gzip != nil {
		a.Header().Set("Content-Encoding", "gzip")
		a.Header().Del("Content-Length")
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answerWriter) Write(p []byte) (int, error) {
	if a.traffic.Inflated == 0 && len(p) > 0 && a.Header().Get("Vary") == "" {
		a.WriteHeader(http.StatusOK)
	}
	a.traffic.Inflated += int64(len(p))
	if a.gzip == nil {
		return wire{a}.Write(p)
	}
	return a.gzip.Write(p)
}

func (a *answerWriter) Flush() {
	if a.gzip != nil {
		_ = a.gzip.Flush()
	}
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap lets a fault take over the connection.
func (a *answerWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// end completes the answer; one without a body stays without.
func (a *answerWriter) end() {
	if a.gzip == nil {
		return
	}
	if a.traffic.Inflated > 0 {
		_ = a.gzip.Close()
	}
	compressors.Put(a.gzip)
}

type wire struct{ answer *answerWriter }

func (w wire) Write(p []byte) (int, error) {
	n, err := w.answer.ResponseWriter.Write(p)
	w.answer.traffic.Wire += int64(n)
	return n, err
}
