package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

const restSession = "vmware-api-session-id"

// sharedSessions lets a SOAP session be a REST session as well, as vCenter does from 8.0 U3 on; the simulator keeps the
// two apart. None is left that outlives the request.
type sharedSessions struct {
	next http.Handler
	tags *tagStore
	ctx  *simulator.Context
	user string
}

func (s *sharedSessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(restSession)
	if id == "" && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/session") {
		s.login(w, r)
		return
	}
	if isSOAP(r) || id == "" || !s.isSOAPSession(id) {
		s.next.ServeHTTP(w, r)
		return
	}
	alias := uuid.NewString()
	s.tags.setSession(alias, &rest.Session{User: s.user})
	defer s.tags.setSession(alias, nil)
	r.Header.Set(restSession, alias)
	s.next.ServeHTTP(w, r)
}

// login remembers whose session it is that the answer names.
func (s *sharedSessions) login(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	s.next.ServeHTTP(answer, r)
	if id := sessionPattern.Find(answer.Body.Bytes()); id != nil {
		s.tags.opened(string(id), r.UserAgent())
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

var sessionPattern = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func (s *sharedSessions) isSOAPSession(id string) bool {
	request := &types.SessionIsActive{SessionID: id, UserName: s.user}
	body, ok := s.ctx.Map.SessionManager().SessionIsActive(s.ctx, request).(*methods.SessionIsActiveBody)
	return ok && body.Res != nil && body.Res.Returnval
}
