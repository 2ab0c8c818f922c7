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
	status  int
	begun   bool
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
	if a.status == 0 {
		a.status = status
	}
}

func (a *answerWriter) Write(p []byte) (int, error) {
	a.begin(p)
	a.traffic.Inflated += int64(len(p))
	if a.gzip == nil {
		return wire{a}.Write(p)
	}
	return a.gzip.Write(p)
}

// begin sends the header, once the beginning of the body is known: the simulator leaves it to the server to guess the
// type, which it could not do from compressed bytes.
func (a *answerWriter) begin(p []byte) {
	if a.begun {
		return
	}
	a.begun = true
	h := a.Header()
	h.Set("Vary", "Accept-Encoding")
	if len(p) > 0 && h.Get("Content-Type") == "" {
		h.Set("Content-Type", http.DetectContentType(p))
	}
	if len(p) == 0 {
		a.gzip = nil
	}
	if a.gzip != nil {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
	}
	if a.status != 0 {
		a.ResponseWriter.WriteHeader(a.status)
	}
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
	a.begin(nil)
	if a.gzip != nil {
		_ = a.gzip.Close()
		compressors.Put(a.gzip)
	}
}

type wire struct{ answer *answerWriter }

func (w wire) Write(p []byte) (int, error) {
	n, err := w.answer.ResponseWriter.Write(p)
	w.answer.traffic.Wire += int64(n)
	return n, err
}
