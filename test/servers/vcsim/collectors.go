package main

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// pageLimit is how many objects stand in a page at most, whatever a client asks for; 0 leaves it to the client. It is
// the process's own, for the simulator makes collectors by their type alone.
var pageLimit atomic.Int32

// pagingCollector pages as vCenter does: a continuation token is the collector's own and that of its last result, so
// that any other read by the same collector voids it. The simulator's tokens are good for ever and for everybody.
type pagingCollector struct {
	propertyCollector
	mu sync.Mutex
	// token is the one that may be used; "" is none.
	token  string
	tokens int
	rest   []types.ObjectContent
	// size is what the client asked for when it began to read.
	size int32
	// watch is what it watches by filters on machines.
	watch watch
}

func (c *pagingCollector) CreatePropertyCollector(ctx *simulator.Context, _ *types.CreatePropertyCollector) soap.HasFault {
	made := &pagingCollector{}
	// The simulator would name it after its type in Go.
	made.Self = sessionReference(ctx, "PropertyCollector")
	return &methods.CreatePropertyCollectorBody{Res: &types.CreatePropertyCollectorResponse{
		Returnval: ctx.Session.Put(made).Reference(),
	}}
}

func sessionReference(ctx *simulator.Context, kind string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: kind, Value: fmt.Sprintf("session[%s]%s", ctx.Session.Key, uuid.New())}
}

func (c *pagingCollector) RetrieveProperties(ctx *simulator.Context, req *types.RetrieveProperties) soap.HasFault {
	c.page(nil, 0)
	return c.propertyCollector.RetrieveProperties(ctx, req)
}

func (c *pagingCollector) RetrievePropertiesEx(ctx *simulator.Context, req *types.RetrievePropertiesEx) soap.HasFault {
	whole := *req
	whole.Options.MaxObjects = 0
	answer := c.propertyCollector.RetrievePropertiesEx(ctx, &whole)
	body, ok := answer.(*methods.RetrievePropertiesExBody)
	if !ok || body.Res == nil || body.Res.Returnval == nil {
		c.page(nil, 0)
		return answer
	}
	result := body.Res.Returnval
	if ctx.Session != nil && ctx.Session.UserName != "" {
		properties.withhold(result.Objects, req.SpecSet)
	}
	result.Objects, result.Token = c.page(result.Objects, req.Options.MaxObjects)
	return answer
}

func (c *pagingCollector) ContinueRetrievePropertiesEx(_ *simulator.Context, req *types.ContinueRetrievePropertiesEx) soap.HasFault {
	body := &methods.ContinueRetrievePropertiesExBody{}
	c.mu.Lock()
	rest, size := c.rest, c.size
	known := req.Token != "" && req.Token == c.token
	c.mu.Unlock()
	if !known {
		body.Fault_ = simulator.Fault("A specified parameter was not correct: token", &types.InvalidArgument{InvalidProperty: "token"})
		return body
	}
	body.Res = &types.ContinueRetrievePropertiesExResponse{}
	body.Res.Returnval.Objects, body.Res.Returnval.Token = c.page(rest, size)
	return body
}

// page parts the objects of this answer from those of the next, and names the token for these.
func (c *pagingCollector) page(objects []types.ObjectContent, asked int32) ([]types.ObjectContent, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token, c.rest, c.size = "", nil, asked
	size := limited(asked)
	if size == 0 || len(objects) <= int(size) {
		return objects, ""
	}
	c.token = strconv.Itoa(c.tokens)
	c.tokens++
	c.rest = objects[size:]
	return objects[:size], c.token
}

// limited is what a client gets that asks for so many; 0 is no limit.
func limited(asked int32) int32 {
	limit := pageLimit.Load()
	if limit > 0 && (asked <= 0 || asked > limit) {
		return limit
	}
	return max(asked, 0)
}

// pages is the body of a request to limit them.
type pages struct {
	// Objects in a page at most; 0 leaves it to the client again.
	Objects int32 `json:"objects"`
}

func (p *pages) limit() error {
	if p.Objects < 0 {
		return fmt.Errorf("a page cannot have %d objects", p.Objects)
	}
	pageLimit.Store(p.Objects)
	return nil
}

// handleCollectors serves what property collectors do.
func (c *control) handleCollectors(mux *http.ServeMux) {
	mux.HandleFunc("PUT /pages", answer(changed(c, (*pages).limit)))
	c.handleProperties(mux)
}
