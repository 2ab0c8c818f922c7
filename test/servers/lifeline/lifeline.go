// Package lifeline ends a server together with the process that started it.
//
// A test that is killed with SIGKILL runs no clean-up, so the servers themselves must notice. The starter keeps the
// write end of the server's standard input open and never writes to it; the kernel closes it however the starter ends.
package lifeline

import (
	"io"
	"os"
)

const (
	// variable turns the lifeline on. Without it a server started by hand, with no standard input, stays up.
	variable = "ROLLCALL_LIFELINE"
	// removes names a folder that is of no use to anyone once the starter is gone.
	removes = "ROLLCALL_LIFELINE_REMOVES"
)

func init() {
	if os.Getenv(variable) == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if dir := os.Getenv(removes); dir != "" {
			_ = os.RemoveAll(dir)
		}
		os.Exit(0)
	}()
}
