// Command rollcall-guestinfo speaks to the hypervisor as vmware-rpctool does, for images that have no open-vm-tools:
// one argument, the RPC command ("info-get guestinfo.k", "info-set guestinfo.k v"); the answer on stdout and code 0,
// or the refusal on stderr and code 1. Elsewhere than in a VMware virtual machine it says so and does nothing.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/vmware/vmw-guestinfo/rpcout"
	"github.com/vmware/vmw-guestinfo/vmcheck"
)

const usage = `usage: rollcall-guestinfo COMMAND

COMMAND is one argument:
  "info-get guestinfo.KEY"        print a guestinfo variable of this virtual machine
  "info-set guestinfo.KEY VALUE"  set it
`

// A host is the hypervisor's side, as the command line needs it.
type host struct {
	present func() bool
	send    func(command string) (reply string, accepted bool, err error)
}

func main() {
	// Access to the port faults where a host restricts the backdoor: a message, not a crash.
	debug.SetPanicOnFault(true)
	os.Exit(run(os.Args[1:], host{present, send}, os.Stdout, os.Stderr))
}

func run(args []string, h host, stdout, stderr io.Writer) int {
	if len(args) != 1 || args[0] == "" {
		fmt.Fprint(stderr, usage)
		return 2
	}
	if args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(stdout, usage)
		return 0
	}
	// The leave to use the port that present takes is its thread's alone: on another one the port faults, where a hypervisor
	// goes by that leave.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if !h.present() {
		fmt.Fprintln(stderr, "rollcall-guestinfo: not in a VMware VM")
		return 1
	}
	reply, accepted, err := h.send(args[0])
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "rollcall-guestinfo: %v\n", err)
		return 1
	case !accepted:
		fmt.Fprintln(stderr, reply)
		return 1
	}
	fmt.Fprintln(stdout, reply)
	return 0
}

// present asks the CPU, and only then the backdoor's port, which no other hypervisor would understand. The port needs
// no privilege in a VMware VM, so a refused iopl is no obstacle.
func present() (found bool) {
	defer func() {
		if recover() != nil {
			found = false
		}
	}()
	found, err := vmcheck.IsVirtualWorld(true)
	return found && err == nil
}

// send carries one command to the host. The library indexes into the answer before it looks at its length, and its
// port access may fault where the host restricts it: both come back as an error, in the words of vmware-rpctool. A
// channel that the host does not open is another error, and may pass.
func send(command string) (reply string, accepted bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("failed sending message to VMware: %v", cause)
		}
	}()
	answer, accepted, err := rpcout.SendOneRaw([]byte(command))
	return string(answer), accepted, err
}
