package main

import "github.com/vmware/govmomi/vim25"

// destruction names a machine by reference or name.
type destruction struct {
	VM string `json:"vm"`
}

// apply powers the machine off and destroys it, whatever faults the front has.
func (d *destruction) apply(c *control) error {
	vm, err := c.lookup(d.VM)
	if err != nil {
		return err
	}
	client, err := vim25.NewClient(c.ctx, c.service)
	if err != nil {
		return err
	}
	return c.destroy(client, vm)
}
