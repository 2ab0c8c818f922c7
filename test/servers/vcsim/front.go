package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
)

// front stands between clients and the simulator: it names each call, counts it, and lets a fault answer in its place.
type front struct {
	next   http.Handler
	calls  counter
	bytes  meter
	ids    operationIDs
	faults faultSet
	age    generation
	lost   lostViews
	far    far
}

func newFront(next http.Handler) *front {
	return &front{
		next:  next,
		calls: counter{byOperation: map[string]int{}},
		bytes: meter{byOperation: map[string]traffic{}},
	}
}

func (f *front) ServeHTTP(writer http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	c := call{operation: operation(r, body), soap: isSOAP(r), request: r, body: body}
	f.calls.add(c.operation)
	if c.soap {
		f.ids.add(body)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := newAnswerWriter(writer, r)
	defer func() { f.bytes.add(c.operation, w.traffic) }()
	f.answer(w, &c)
	w.end()
}

func (f *front) answer(w http.ResponseWriter, c *call) {
	if !f.far.answer(w, c, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { f.answerNear(w, c) })) {
		f.answerNear(w, c)
	}
}

func (f *front) answerNear(w http.ResponseWriter, c *call) {
	if fault := f.faults.match(c); fault != nil {
		fault.answer(w, c, f.next)
		return
	}
	if !f.lost.answer(w, c) && !f.age.answer(w, c, f.next) {
		f.next.ServeHTTP(w, c.request)
	}
}

// call is one request of a client, read to its end.
type call struct {
	operation string
	soap      bool
	request   *http.Request
	body      []byte
}

func isSOAP(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/sdk")
}

// operation is the name of the SOAP operation, or "REST <METHOD> <path>" with identifiers in the path replaced by "*".
func operation(r *http.Request, body []byte) string {
	if isSOAP(r) {
		return soapOperation(body)
	}
	segments := strings.Split(r.URL.Path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "id:") || strings.HasPrefix(segment, "urn:") {
			segments[i] = "*"
		}
	}
	return "REST " + r.Method + " " + strings.Join(segments, "/")
}

// soapOperation finds the first child of Body without parsing: benchmarks of a thousand nodes go through here.
func soapOperation(body []byte) string {
	inBody := false
	for {
		start := bytes.IndexByte(body, '<')
		if start < 0 {
			return "unknown"
		}
		body = body[start+1:]
		end := bytes.IndexAny(body, " \t\r\n/>")
		if end <= 0 {
			continue // a closing tag
		}
		name := body[:end]
		if colon := bytes.IndexByte(name, ':'); colon >= 0 {
			name = name[colon+1:]
		}
		if inBody {
			return string(name)
		}
		inBody = string(name) == "Body"
		body = body[end:]
	}
}

// counter counts calls by operation.
type counter struct {
	mu          sync.Mutex
	byOperation map[string]int
}

func (c *counter) add(operation string) {
	c.mu.Lock()
	c.byOperation[operation]++
	c.mu.Unlock()
}

func (c *counter) reset() {
	c.mu.Lock()
	clear(c.byOperation)
	c.mu.Unlock()
}

// counts is the answer to a reader of the counter.
type counts struct {
	Total      int            `json:"total"`
	Operations map[string]int `json:"operations"`
}

func (c *counter) read() counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := counts{Operations: map[string]int{}}
	for operation, n := range c.byOperation {
		all.Operations[operation] = n
		all.Total += n
	}
	return all
}
