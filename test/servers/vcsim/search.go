package main

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// searchIndex finds machines in the datacenter that is asked for, as vCenter does: the simulator's takes no notice of it.
type searchIndex struct {
	*simulator.SearchIndex
}

// scopeSearches puts it into each session that searches: in the registry, the simulator needs its own.
func scopeSearches(ctx *simulator.Context) {
	next := ctx.Map.Handler
	plain := ctx.Map.SearchIndex()
	ctx.Map.Handler = func(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if method.This == plain.Self && ctx.Session != nil {
			ctx.Session.Registry.Put(&searchIndex{plain})
		}
		return next(ctx, method)
	}
}

func (s *searchIndex) FindByUuid(ctx *simulator.Context, req *types.FindByUuid) soap.HasFault {
	answer, ok := s.FindAllByUuid(ctx, (*types.FindAllByUuid)(req)).(*methods.FindAllByUuidBody)
	body := &methods.FindByUuidBody{Res: new(types.FindByUuidResponse)}
	if ok && len(answer.Res.Returnval) > 0 {
		body.Res.Returnval = &answer.Res.Returnval[0]
	}
	return body
}

func (s *searchIndex) FindAllByUuid(ctx *simulator.Context, req *types.FindAllByUuid) soap.HasFault {
	answer := s.SearchIndex.FindAllByUuid(ctx, req)
	if body, ok := answer.(*methods.FindAllByUuidBody); ok && req.VmSearch {
		body.Res.Returnval = within(ctx, req.Datacenter, body.Res.Returnval)
	}
	return answer
}

func (s *searchIndex) FindAllByDnsName(ctx *simulator.Context, req *types.FindAllByDnsName) soap.HasFault {
	answer := s.SearchIndex.FindAllByDnsName(ctx, req)
	if body, ok := answer.(*methods.FindAllByDnsNameBody); ok && req.VmSearch {
		body.Res.Returnval = within(ctx, req.Datacenter, body.Res.Returnval)
	}
	return answer
}

func (s *searchIndex) FindByIp(ctx *simulator.Context, req *types.FindByIp) soap.HasFault {
	body := &methods.FindByIpBody{Res: new(types.FindByIpResponse)}
	all := types.FindAllByIp(*req)
	answer, ok := s.SearchIndex.FindAllByIp(ctx, &all).(*methods.FindAllByIpBody)
	if !ok {
		return body
	}
	found := answer.Res.Returnval
	if req.VmSearch {
		found = within(ctx, req.Datacenter, found)
	}
	if len(found) > 0 {
		body.Res.Returnval = &found[0]
	}
	return body
}

// within keeps those that are somewhere below the datacenter; all where none is asked for.
func within(ctx *simulator.Context, datacenter *types.ManagedObjectReference, refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	if datacenter == nil {
		return refs
	}
	var kept []types.ManagedObjectReference
	for _, ref := range refs {
		for at := &ref; at != nil; {
			if *at == *datacenter {
				kept = append(kept, ref)
				break
			}
			entity, ok := ctx.Map.Get(*at).(mo.Entity)
			if !ok {
				break
			}
			at = entity.Entity().Parent
		}
	}
	return kept
}
