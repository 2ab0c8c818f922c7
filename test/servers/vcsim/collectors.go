package main

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

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
	// polls makes versions that are no numbers.
	polls int
	// members is what the client knows of the objects that it watches.
	members knownMembers
	// uuids is the filter on the UUIDs of all machines, if there is one.
	uuids atomic.Pointer[uuidFilter]
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

func (c *pagingCollector) CreateFilter(ctx *simulator.Context, req *types.CreateFilter) soap.HasFault {
	if c.uuids.Load() != nil || !readsUUIDs(ctx, req.Spec) {
		return c.propertyCollector.CreateFilter(ctx, req)
	}
	filter := newUUIDFilter(ctx, c, req)
	c.uuids.Store(filter)
	return &methods.CreateFilterBody{Res: &types.CreateFilterResponse{Returnval: filter.Self}}
}

func (c *pagingCollector) DestroyPropertyCollector(ctx *simulator.Context, req *types.DestroyPropertyCollector) soap.HasFault {
	if filter := c.uuids.Swap(nil); filter != nil {
		filter.end(ctx)
	}
	return c.propertyCollector.DestroyPropertyCollector(ctx, req)
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

// WaitForUpdatesEx answers in pages too, and with versions that mean nothing to a client.
func (c *pagingCollector) WaitForUpdatesEx(ctx *simulator.Context, req *types.WaitForUpdatesEx) soap.HasFault {
	inner := *req
	options := types.WaitOptions{}
	if req.Options != nil {
		options = *req.Options
	}
	options.MaxObjectUpdates = limited(options.MaxObjectUpdates)
	inner.Options = &options
	c.members.asked(req.Version)
	answer := c.wait(ctx, &inner)
	body, ok := answer.(*methods.WaitForUpdatesExBody)
	if !ok || body.Res == nil {
		return answer
	}
	if set := body.Res.Returnval; set != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		properties.retell(set, specOf(ctx))
		c.polls++
		set.Version = fmt.Sprintf("%d_1", c.polls)
		c.members.answered(set.Version)
	}
	return answer
}

// wait answers as the simulator does, and with what the filter on UUIDs has to tell.
func (c *pagingCollector) wait(ctx *simulator.Context, req *types.WaitForUpdatesEx) soap.HasFault {
	filter := c.uuids.Load()
	if filter != nil && req.Version == "" {
		filter.restart(ctx)
	}
	remaining := deadline(req.Options.MaxWaitSeconds)
	for {
		left := remaining()
		req.Options.MaxWaitSeconds = left
		if filter != nil && filter.waiting() {
			req.Options.MaxWaitSeconds = types.NewInt32(0)
		}
		answer := c.waitOnce(ctx, req, filter)
		if answer == nil {
			continue
		}
		body, ok := answer.(*methods.WaitForUpdatesExBody)
		if !ok || body.Res == nil {
			return answer
		}
		set := body.Res.Returnval
		more := set != nil && set.Truncated != nil && *set.Truncated
		c.members.tellChanges(ctx, c.Filter, body.Res)
		if filter != nil {
			filter.tell(ctx, body.Res, req.Options.MaxObjectUpdates)
		}
		if req.Version == "" || body.Res.Returnval != nil && len(body.Res.Returnval.FilterSet) > 0 {
			return answer
		}
		if left != nil && *left == 0 && !more {
			body.Res.Returnval = nil
			return answer
		}
	}
}

// deadline counts seconds down from now; nil is no end.
func deadline(seconds *int32) func() *int32 {
	if seconds == nil {
		return func() *int32 { return nil }
	}
	end := time.Now().Add(time.Duration(*seconds) * time.Second)
	return func() *int32 {
		return types.NewInt32(int32(math.Ceil(max(0, time.Until(end).Seconds()))))
	}
}

// waitOnce waits for what the simulator has to tell. It answers nil where the filter on UUIDs has something before.
func (c *pagingCollector) waitOnce(ctx *simulator.Context, req *types.WaitForUpdatesEx, filter *uuidFilter) soap.HasFault {
	if filter == nil || filter.waiting() {
		return c.propertyCollector.WaitForUpdatesEx(ctx, req)
	}
	answered := make(chan soap.HasFault, 1)
	go func() { answered <- c.propertyCollector.WaitForUpdatesEx(ctx, req) }()
	select {
	case answer := <-answered:
		return answer
	case <-filter.wake:
	}
	// It may not have begun to wait yet, and then takes no notice.
	for {
		c.CancelWaitForUpdates(&types.CancelWaitForUpdates{This: c.Self})
		select {
		case answer := <-answered:
			if answer.Fault() != nil && c.uuids.Load() == filter {
				return nil
			}
			return answer
		case <-time.After(time.Millisecond):
		}
	}
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
