package main

import (
	"net/http"

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

func (s *sharedSessions) isSOAPSession(id string) bool {
	request := &types.SessionIsActive{SessionID: id, UserName: s.user}
	body, ok := s.ctx.Map.SessionManager().SessionIsActive(s.ctx, request).(*methods.SessionIsActiveBody)
	return ok && body.Res != nil && body.Res.Returnval
}
