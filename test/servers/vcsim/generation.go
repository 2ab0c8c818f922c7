package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// generation is what a later vCenter no longer serves.
type generation struct {
	mu sync.RWMutex
	// RESTGone answers 404 to all of /rest.
	RESTGone bool `json:"restGone"`
	// APIVersions of urn:vim25 that it serves, the newest first; it refuses all others. Empty is all.
	APIVersions []string `json:"apiVersions"`
}

const (
	restBase = "/rest/com/vmware/cis/"
	apiBase  = "/api/"
	versions = "/sdk/vimServiceVersions.xml"
)

// handle lets a test choose.
func (g *generation) handle(mux *http.ServeMux) {
	mux.HandleFunc("POST /generation", answer(func(r *http.Request) (any, error) {
		var asked generation
		if err := decode(r, &asked); err != nil {
			return nil, err
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.RESTGone, g.APIVersions = asked.RESTGone, asked.APIVersions
		return nil, nil
	}))
}

// answer reports whether it has answered in the simulator's place.
func (g *generation) answer(w http.ResponseWriter, c *call, next http.Handler) bool {
	g.mu.RLock()
	gone, served := g.RESTGone, g.APIVersions
	g.mu.RUnlock()
	path := c.request.URL.Path
	switch {
	case gone && strings.HasPrefix(path, "/rest/"):
		http.NotFound(w, c.request)
	case path == "/api/session" || strings.HasPrefix(path, "/api/cis/tagging/"):
		newer(w, c, next)
	case len(served) > 0 && path == versions:
		w.Header().Set("Content-Type", "text/xml")
		_, _ = fmt.Fprintf(w, `%s<namespaces version="1.0"><namespace><name>urn:vim2</name><version>2.0</version></namespace>`+
			`<namespace><name>urn:vim25</name><version>%s</version><priorVersions>`, header, served[0])
		for _, prior := range served[1:] {
			_, _ = fmt.Fprintf(w, "<version>%s</version>", prior)
		}
		_, _ = fmt.Fprint(w, "</priorVersions></namespace></namespaces>")
	case len(served) > 0 && c.soap && !slices.Contains(served, versionOf(c.request)):
		w.Header().Set("Content-Type", xmlType)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, `%s%s<soapenv:Fault><faultcode>VersionMismatchFaultCode</faultcode>`+
			`<faultstring>Unsupported version URI "urn:vim25/%s"</faultstring></soapenv:Fault>%s`,
			header, open, versionOf(c.request), end)
	default:
		return false
	}
	return true
}

func versionOf(r *http.Request) string {
	return strings.TrimPrefix(strings.Trim(r.Header.Get("SOAPAction"), `"`), "urn:vim25/")
}

// newer serves /api by way of /rest, which is all that the simulator has of tags: paths, where an action's object stands
// and the wrapping of answers differ.
func newer(w http.ResponseWriter, c *call, next http.Handler) {
	older := c.request.Clone(c.request.Context())
	older.Body = c.request.Body
	older.RequestURI = ""
	resource := strings.TrimPrefix(strings.TrimPrefix(c.request.URL.Path, apiBase), "cis/")
	parts := strings.SplitN(resource, "/", 3)
	if len(parts) == 3 {
		parts[2] = "id:" + parts[2]
	}
	query := url.Values{}
	if action := c.request.URL.Query().Get("action"); action != "" {
		query.Set("~action", action)
		var body struct {
			Category string `json:"category_id"`
		}
		if _ = json.Unmarshal(c.body, &body); body.Category != "" {
			parts = append(parts, "id:"+body.Category)
		}
	}
	older.URL = &url.URL{Path: restBase + strings.Join(parts, "/"), RawQuery: query.Encode()}
	recorder := httptest.NewRecorder()
	next.ServeHTTP(recorder, older)
	status := recorder.Code
	if resource == "session" && c.request.Method == http.MethodPost && status == http.StatusOK {
		status = http.StatusCreated
	}
	var wrapped struct {
		Value json.RawMessage `json:"value"`
	}
	body := recorder.Body.Bytes()
	if json.Unmarshal(body, &wrapped) == nil && wrapped.Value != nil {
		body = wrapped.Value
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
