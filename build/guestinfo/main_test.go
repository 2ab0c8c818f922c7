package main

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

func TestRun(t *testing.T) {
	answers := func(reply string, accepted bool, err error) host {
		return host{
			present: func() bool { return true },
			send:    func(string) (string, bool, error) { return reply, accepted, err },
		}
	}
	absent := host{present: func() bool { return false }, send: func(string) (string, bool, error) {
		t.Error("sent a command outside of a VM")
		return "", false, nil
	}}
	for _, test := range []struct {
		name           string
		args           []string
		host           host
		code           int
		stdout, stderr string
	}{
		{"value", []string{"info-get guestinfo.k"}, answers("v 1", true, nil), 0, "v 1\n", ""},
		{"no value", []string{"info-get guestinfo.k"}, answers("No value found", false, nil), 1, "", "No value found\n"},
		{"channel", []string{"info-get guestinfo.k"}, answers("", false, errors.New("could not open channel")), 1, "", "could not open channel"},
		{"elsewhere", []string{"info-get guestinfo.k"}, absent, 1, "", "not in a VMware VM"},
		{"help", []string{"--help"}, absent, 0, "info-get", ""},
		{"nothing", nil, absent, 2, "", "usage"},
		{"two words", []string{"info-get", "guestinfo.k"}, absent, 2, "", "usage"},
		{"empty", []string{""}, absent, 2, "", "usage"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(test.args, test.host, &stdout, &stderr); code != test.code {
				t.Errorf("code %d, want %d", code, test.code)
			}
			for _, stream := range []struct{ got, want string }{{stdout.String(), test.stdout}, {stderr.String(), test.stderr}} {
				if (stream.want == "") != (stream.got == "") || !strings.Contains(stream.got, stream.want) {
					t.Errorf("said %q, want %q", stream.got, stream.want)
				}
			}
		})
	}
}

// The leave to use the port is that of a thread, so all that needs it must run on one.
func TestRunStaysOnItsThread(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for range 2 * runtime.GOMAXPROCS(0) {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
	}
	for range 20 {
		threads := map[int]bool{}
		look := func() {
			for range 1000 {
				threads[syscall.Gettid()] = true
				runtime.Gosched()
			}
		}
		h := host{
			present: func() bool { look(); return true },
			send:    func(string) (string, bool, error) { look(); return "v", true, nil },
		}
		run([]string{"info-get guestinfo.k"}, h, io.Discard, io.Discard)
		if len(threads) != 1 {
			t.Fatalf("ran on %d threads", len(threads))
		}
	}
}

// Outside of a VMware VM the port's instruction faults, as it does where a host restricts the backdoor.
func TestSendSurvivesFault(t *testing.T) {
	if present() {
		t.Skip("in a VMware VM the port answers")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if _, _, err := send("info-get guestinfo.k"); err == nil || !strings.Contains(err.Error(), "sending message to VMware") {
		t.Errorf("error %v from a port that is not there", err)
	}
}
