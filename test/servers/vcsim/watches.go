package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// mostUpdates is how many objects vCenter tells of at once, whatever a client asks for.
const mostUpdates = 100

// accumulation is how long the simulator waits for more once there is something to tell.
const accumulation = 20 * time.Millisecond

// watch is what a collector watches by filters on machines, and what the client knows of it.
type watch struct {
	// wake holds a token while there may be something to tell.
	wake chan struct{}

	mu      sync.Mutex
	filters []*vmFilter
	// cancel ends the poll that waits, if one does: there is one at a time.
	cancel context.CancelFunc
	// polls makes versions that are no numbers.
	polls int
	// answers are the machines in each answer that the client may not have received, by version.
	answers map[string][]toldOf
}

// toldOf is a machine of which a filter has told.
type toldOf struct {
	filter *vmFilter
	vm     types.ManagedObjectReference
}

// open makes it ready for filters; the simulator makes collectors by their type alone.
func (w *watch) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wake == nil {
		w.wake = make(chan struct{}, 1)
		w.answers = map[string][]toldOf{}
	}
}

func (w *watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watch) remove(f *vmFilter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.filters = slices.DeleteFunc(w.filters, func(each *vmFilter) bool { return each == f })
}

// read reads what filters tell, which is not subject to what a test has reads refuse; nil where there is no such machine.
func (w *watch) read(ctx *simulator.Context, ref types.ManagedObjectReference, paths []string) (map[string]any, types.BaseMethodFault) {
	answer := new(simulator.PropertyCollector).RetrievePropertiesEx(ctx, &types.RetrievePropertiesEx{
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{Obj: ref}},
			PropSet:   []types.PropertySpec{{Type: ref.Type, PathSet: paths}},
		}},
	})
	body := answer.(*methods.RetrievePropertiesExBody)
	if body.Fault_ != nil {
		fault, ok := body.Fault_.VimFault().(types.BaseMethodFault)
		if !ok {
			fault = &types.SystemError{Reason: body.Fault_.String}
		}
		return nil, fault
	}
	if len(body.Res.Returnval.Objects) == 0 {
		return nil, nil
	}
	values := map[string]any{}
	for _, property := range body.Res.Returnval.Objects[0].PropSet {
		values[property.Name] = property.Val
	}
	return values, nil
}

// begin ends the poll before this one. Of what was in an answer whose version the client does not continue from, all is told
// again.
func (w *watch) begin(ctx *simulator.Context, version string) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
	waiting, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	for answered, told := range w.answers {
		for _, each := range told {
			if answered != version {
				each.filter.lost(each.vm)
			}
		}
	}
	clear(w.answers)
	if version == "" {
		for _, filter := range w.filters {
			filter.restart(ctx)
		}
	}
	return waiting
}

// gather tells of at most so many machines; nil where there is nothing to tell after a version. A poll that has been ended
// tells of none, for the next one does.
func (w *watch) gather(ctx *simulator.Context, waiting context.Context, version string, room int) (*types.UpdateSet, types.BaseMethodFault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waiting.Err() != nil {
		return nil, &types.RequestCanceled{}
	}
	set := &types.UpdateSet{}
	var told []toldOf
	for _, filter := range w.filters {
		if ctx.Session.Get(filter.view()) == nil {
			return nil, &types.ManagedObjectNotFound{Obj: filter.view()}
		}
		updates, more, fault := filter.take(ctx, room)
		if fault != nil {
			for _, each := range told {
				each.filter.lost(each.vm)
			}
			return nil, fault
		}
		room -= len(updates)
		if more {
			set.Truncated = types.NewBool(true)
		}
		if len(updates) > 0 {
			set.FilterSet = append(set.FilterSet, types.PropertyFilterUpdate{Filter: filter.Self, ObjectSet: updates})
		}
		for _, update := range updates {
			told = append(told, toldOf{filter, update.Obj})
		}
	}
	if len(told) == 0 && version != "" {
		return nil, nil
	}
	w.polls++
	set.Version = fmt.Sprintf("%d_1", w.polls)
	w.answers[set.Version] = told
	return set, nil
}

// poll answers at once where there is something to tell, and else when there is; nil where the time is over.
func (w *watch) poll(ctx *simulator.Context, req *types.WaitForUpdatesEx, options types.WaitOptions) (*types.UpdateSet, types.BaseMethodFault) {
	w.open()
	waiting := w.begin(ctx, req.Version)
	room := mostUpdates
	if asked := int(options.MaxObjectUpdates); asked > 0 {
		room = min(room, asked)
	}
	var late <-chan time.Time
	if seconds := options.MaxWaitSeconds; seconds != nil {
		late = time.After(time.Duration(*seconds) * time.Second)
	}
	for {
		set, fault := w.gather(ctx, waiting, req.Version, room)
		if fault != nil || set != nil {
			return set, fault
		}
		select {
		case <-w.wake:
			if waiting.Err() != nil {
				// The token is that of the poll after this one.
				w.signal()
			}
			time.Sleep(accumulation)
		case <-waiting.Done():
		case <-late:
			return nil, nil
		}
	}
}

func (c *pagingCollector) CreateFilter(ctx *simulator.Context, req *types.CreateFilter) soap.HasFault {
	c.watch.open()
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	var filter *vmFilter
	if len(c.Filter) == 0 {
		filter = newVMFilter(ctx, &c.watch, req)
	}
	if filter == nil && len(c.watch.filters) == 0 {
		return c.propertyCollector.CreateFilter(ctx, req)
	}
	if filter == nil {
		return &methods.CreateFilterBody{
			Fault_: simulator.Fault("here a collector that watches machines watches nothing else", &types.NotSupported{}),
		}
	}
	c.watch.filters = append(c.watch.filters, filter)
	return &methods.CreateFilterBody{Res: &types.CreateFilterResponse{Returnval: filter.Self}}
}

func (c *pagingCollector) DestroyPropertyCollector(ctx *simulator.Context, req *types.DestroyPropertyCollector) soap.HasFault {
	c.watch.mu.Lock()
	filters := c.watch.filters
	c.watch.filters = nil
	c.watch.mu.Unlock()
	for _, filter := range filters {
		filter.end(ctx)
	}
	c.CancelWaitForUpdates(&types.CancelWaitForUpdates{This: req.This})
	return c.propertyCollector.DestroyPropertyCollector(ctx, req)
}

func (c *pagingCollector) CancelWaitForUpdates(req *types.CancelWaitForUpdates) soap.HasFault {
	c.watch.mu.Lock()
	if c.watch.cancel != nil {
		c.watch.cancel()
	}
	c.watch.mu.Unlock()
	return c.propertyCollector.CancelWaitForUpdates(req)
}

// WaitForUpdatesEx answers in pages too, and with versions that mean nothing to a client. What else than machines is watched,
// the simulator tells.
func (c *pagingCollector) WaitForUpdatesEx(ctx *simulator.Context, req *types.WaitForUpdatesEx) soap.HasFault {
	options := types.WaitOptions{}
	if req.Options != nil {
		options = *req.Options
	}
	options.MaxObjectUpdates = limited(options.MaxObjectUpdates)
	if len(c.Filter) > 0 {
		inner := *req
		inner.Options = &options
		return c.propertyCollector.WaitForUpdatesEx(ctx, &inner)
	}
	body := &methods.WaitForUpdatesExBody{}
	set, fault := c.watch.poll(ctx, req, options)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	if set != nil {
		properties.retell(set, specOf(ctx))
	}
	body.Res = &types.WaitForUpdatesExResponse{Returnval: set}
	return body
}
