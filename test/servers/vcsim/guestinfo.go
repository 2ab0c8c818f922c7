package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// guestVariable is one key of a machine's extra configuration; an empty value removes it.
type guestVariable struct {
	VM    string `json:"vm"`
	Key   string `json:"key"`
	Value string `json:"value"`
}

// apply pushes two changes, the key and the whole list, since clients may watch either path.
func (v *guestVariable) apply(ctx *simulator.Context, vm *simulator.VirtualMachine) error {
	if v.Key == "" {
		return fmt.Errorf("a guest variable needs a key")
	}
	field := mo.Field{Path: "config.extraConfig", Key: v.Key}
	changed := types.PropertyChange{Name: field.String(), Op: types.PropertyChangeOpAssign}
	// A copy, since answers that are being written still hold the list as it was.
	list := slices.Clone(vm.Config.ExtraConfig)
	at := indexOf(list, v.Key)
	switch {
	case v.Value == "" && at < 0:
		return nil
	case v.Value == "":
		list = slices.Delete(list, at, at+1)
		changed.Op = types.PropertyChangeOpRemove
	case at < 0:
		list = append(list, &types.OptionValue{Key: v.Key, Value: v.Value})
		changed.Op = types.PropertyChangeOpAdd
	default:
		list[at] = &types.OptionValue{Key: v.Key, Value: v.Value}
	}
	if v.Value != "" {
		changed.Val = &types.OptionValue{Key: v.Key, Value: v.Value}
	}
	vm.Config.ExtraConfig = list
	ctx.Update(vm, []types.PropertyChange{changed, {Name: field.Path, Val: list}})
	return nil
}

// read returns a variable's value, and whether there is one.
func read(vm *simulator.VirtualMachine, key string) (string, bool) {
	at := indexOf(vm.Config.ExtraConfig, key)
	if at < 0 {
		return "", false
	}
	value, ok := vm.Config.ExtraConfig[at].GetOptionValue().Value.(string)
	return value, ok
}

func indexOf(list []types.BaseOptionValue, key string) int {
	return slices.IndexFunc(list, func(option types.BaseOptionValue) bool { return option.GetOptionValue().Key == key })
}

// guestCall is what a guest says to its hypervisor through the backdoor.
type guestCall struct {
	VM      string `json:"vm"`
	Command string `json:"command"`
}

// guestAnswer carries what the guest's tool prints, and whether it succeeds.
type guestAnswer struct {
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

// answer does what ESXi does with the two commands, in its words.
func (g *guestCall) answer(ctx *simulator.Context, vm *simulator.VirtualMachine) guestAnswer {
	verb, rest, _ := strings.Cut(g.Command, " ")
	switch verb {
	case "info-get":
		if value, ok := read(vm, strings.TrimSpace(rest)); ok {
			return guestAnswer{true, value}
		}
		return guestAnswer{false, "No value found"}
	case "info-set":
		key, value, _ := strings.Cut(rest, " ")
		if !strings.HasPrefix(key, "guestinfo.") {
			return guestAnswer{false, "Permission denied"}
		}
		if err := (&guestVariable{Key: key, Value: value}).apply(ctx, vm); err != nil {
			return guestAnswer{false, err.Error()}
		}
		return guestAnswer{true, ""}
	default:
		return guestAnswer{false, "Unknown command"}
	}
}
