package main

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// enforce puts the veil between clients and the registry.
func (v *veil) enforce(ctx *simulator.Context, content types.ServiceContent) {
	manager := ctx.Map.Get(*content.AuthorizationManager).(*simulator.AuthorizationManager)
	ctx.Map.Put(&authorizationManager{AuthorizationManager: manager, veil: v})
	// The simulator makes one like it for each session.
	collector := &pagingCollector{}
	collector.Self = content.PropertyCollector
	ctx.Map.Put(collector)
	ctx.Map.Handler = v.refuse
}

// authorizationManager knows what was revoked, and that objects may not exist: the simulator's grants everything.
type authorizationManager struct {
	*simulator.AuthorizationManager
	veil *veil
}

func (m *authorizationManager) HasPrivilegeOnEntities(ctx *simulator.Context, req *types.HasPrivilegeOnEntities) soap.HasFault {
	body := &methods.HasPrivilegeOnEntitiesBody{}
	if req.SessionId != ctx.Session.Key {
		body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "sessionId"})
		return body
	}
	res := &types.HasPrivilegeOnEntitiesResponse{}
	for _, entity := range req.Entity {
		refused := m.veil.refused(ctx, entity) != ""
		if !refused && ctx.Map.Get(entity) == nil {
			body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: entity})
			return body
		}
		privilege := types.EntityPrivilege{Entity: entity}
		for _, id := range req.PrivId {
			privilege.PrivAvailability = append(privilege.PrivAvailability, types.PrivilegeAvailability{
				PrivId:    id,
				IsGranted: !refused || id == "System.Anonymous",
			})
		}
		res.Returnval = append(res.Returnval, privilege)
	}
	body.Res = res
	return body
}

// refuse answers with NoPermission where a client reads an object that is refused by a fault, or calls one of its
// methods. Calls from inside this process have no user.
func (v *veil) refuse(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Session == nil || ctx.Session.UserName == "" {
		return nil, nil
	}
	if v.refused(ctx, method.This) != "" {
		return nil, noPermission(method.This)
	}
	for _, spec := range readSpecs(method.Body) {
		for _, object := range spec.ObjectSet {
			switch v.refused(ctx, object.Obj) {
			case asFault:
				return nil, noPermission(object.Obj)
			case asFaultOnRoot:
				return nil, noPermission(ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.RootFolder)
			}
		}
	}
	return nil, nil
}

func readSpecs(request any) []types.PropertyFilterSpec {
	switch r := request.(type) {
	case *types.RetrievePropertiesEx:
		return r.SpecSet
	case *types.RetrieveProperties:
		return r.SpecSet
	default:
		return nil
	}
}

func noPermission(ref types.ManagedObjectReference) *types.NoPermission {
	return &types.NoPermission{Object: &ref, PrivilegeId: "System.Read"}
}

// propertyCollector answers reads of refused objects without properties, with the fault for each.
type propertyCollector struct {
	simulator.PropertyCollector
}

func (c *propertyCollector) RetrievePropertiesEx(ctx *simulator.Context, req *types.RetrievePropertiesEx) soap.HasFault {
	allowed, refused := c.split(ctx, req.SpecSet)
	inner := *req
	inner.SpecSet = allowed
	answer := c.PropertyCollector.RetrievePropertiesEx(ctx, &inner)
	if body, ok := answer.(*methods.RetrievePropertiesExBody); ok && body.Res != nil && len(refused) > 0 {
		if body.Res.Returnval == nil {
			body.Res.Returnval = &types.RetrieveResult{}
		}
		body.Res.Returnval.Objects = append(body.Res.Returnval.Objects, refused...)
	}
	return answer
}

func (c *propertyCollector) RetrieveProperties(ctx *simulator.Context, req *types.RetrieveProperties) soap.HasFault {
	allowed, refused := c.split(ctx, req.SpecSet)
	inner := *req
	inner.SpecSet = allowed
	answer := c.PropertyCollector.RetrieveProperties(ctx, &inner)
	if body, ok := answer.(*methods.RetrievePropertiesBody); ok && body.Res != nil {
		body.Res.Returnval = append(body.Res.Returnval, refused...)
	}
	return answer
}

// split parts what may be read from what is refused.
func (c *propertyCollector) split(ctx *simulator.Context, specs []types.PropertyFilterSpec) ([]types.PropertyFilterSpec, []types.ObjectContent) {
	if ctx.Session == nil || ctx.Session.UserName == "" {
		return specs, nil
	}
	// The simulator makes collectors by their type alone.
	manager := ctx.Map.Get(*ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.AuthorizationManager)
	veil := manager.(*authorizationManager).veil
	var allowed []types.PropertyFilterSpec
	var refused []types.ObjectContent
	for _, spec := range specs {
		var objects []types.ObjectSpec
		for _, object := range spec.ObjectSet {
			if veil.refused(ctx, object.Obj) == "" {
				objects = append(objects, object)
			} else {
				refused = append(refused, withoutProperties(object.Obj, spec.PropSet))
			}
		}
		spec.ObjectSet = objects
		allowed = append(allowed, spec)
	}
	return allowed, refused
}

func withoutProperties(ref types.ManagedObjectReference, specs []types.PropertySpec) types.ObjectContent {
	content := types.ObjectContent{Obj: ref}
	for _, spec := range specs {
		if spec.Type != ref.Type && spec.Type != "ManagedEntity" {
			continue
		}
		for _, path := range spec.PathSet {
			content.MissingSet = append(content.MissingSet, types.MissingProperty{
				Path:  path,
				Fault: types.LocalizedMethodFault{Fault: noPermission(ref)},
			})
		}
	}
	return content
}
