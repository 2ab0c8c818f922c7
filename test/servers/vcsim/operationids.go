package main

import (
	"bytes"
	"slices"
	"sync"
)

const maxOperationIDs = 1000

// operationIDs are those of the latest SOAP calls, the oldest first; an empty one for a call without.
type operationIDs struct {
	mu     sync.Mutex
	latest []string
}

func (o *operationIDs) add(body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest = append(o.latest, operationID(body))
	if len(o.latest) >= 2*maxOperationIDs {
		o.latest = slices.Clone(o.latest[maxOperationIDs:])
	}
}

func (o *operationIDs) read() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string{}, o.latest[max(0, len(o.latest)-maxOperationIDs):]...)
}

func (o *operationIDs) reset() {
	o.mu.Lock()
	o.latest = nil
	o.mu.Unlock()
}

// operationID stands in the header, which no parameter of the call precedes.
func operationID(body []byte) string {
	head, _, _ := bytes.Cut(body, []byte("Body>"))
	_, after, _ := bytes.Cut(head, []byte("operationID>"))
	id, _, _ := bytes.Cut(after, []byte("<"))
	return string(id)
}
