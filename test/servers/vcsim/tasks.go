package main

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// task is something that vCenter does with a machine, until a test ends it.
type task struct {
	VM string `json:"vm"`
	// DescriptionID, such as "VirtualMachine.migrate".
	DescriptionID string `json:"descriptionId"`
	// State is "running" where it is left out.
	State string `json:"state"`
}

// start lists the task with its machine without running anything: a task of the simulator's own holds its machine's
// lock, so that nobody could read it meanwhile.
func (t *task) start(c *control) (string, error) {
	vm, err := c.lookup(t.VM)
	if err != nil {
		return "", err
	}
	state := types.TaskInfoStateRunning
	if t.State != "" {
		state = types.TaskInfoState(t.State)
	}
	if !slices.Contains(state.Values(), state) {
		return "", fmt.Errorf("unknown state of a task %q", state)
	}
	made := simulator.CreateTask(vm, t.DescriptionID, nil)
	made.Info.DescriptionId = t.DescriptionID
	made.Info.State = state
	made = c.ctx.Map.Put(made).(*simulator.Task)
	made.Info.Key = made.Self.Value
	made.Info.Task = made.Self
	return made.Self.Value, nil
}

// taskEnd is how a task ends.
type taskEnd struct {
	Task string `json:"task"`
	// State is "success" or "error", or "gone": the machine still lists it and it cannot be read.
	State string `json:"state"`
}

func (e *taskEnd) apply(c *control) error {
	ref := types.ManagedObjectReference{Type: "Task", Value: e.Task}
	found, ok := c.ctx.Map.Get(ref).(*simulator.Task)
	if !ok {
		return fmt.Errorf("no task %q", e.Task)
	}
	switch e.State {
	case "gone":
		c.ctx.Map.Remove(c.ctx, ref)
	case "success", "error":
		c.ctx.WithLock(found, func() {
			c.ctx.Update(found, []types.PropertyChange{{Name: "info.state", Val: types.TaskInfoState(e.State)}})
		})
	default:
		return fmt.Errorf("a task ends as success, error or gone, not as %q", e.State)
	}
	return nil
}
