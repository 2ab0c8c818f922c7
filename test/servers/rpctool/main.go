// A stand-in for vmware-rpctool and, under that name, for vmtoolsd: the same command lines, exit codes and words, but the
// hypervisor's side is the simulator's control port. Which machine it runs "in" stands in a file beside it, since an
// agent clears the environment of what it runs.
//
// Of open-vm-tools it follows rpctool/rpctool.c (RpcToolCommand) and services/vmtoolsd/cmdLine.c (ToolsCoreRunCommand):
// the host's answer goes to stdout with code 0, its refusal to stderr with code 1, each with a newline. The refusals are
// the host's own: "Permission denied" to a command for which guest_rpc.rpci.auth.cmd asks for the privileged channel
// (lib/include/vmware/tools/guestrpc.h; seen in vmware/open-vm-tools#690), "Unknown command" to one that it does not
// take (lib/include/vmware/guestrpc/tclodefs.h).
//
// The HTTP is written by hand: net/http alone would make the start of this tool several times slower.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// settings are those of the file beside the executable.
type settings struct {
	// Control is host:port of the control port.
	Control string `json:"control"`
	VM      string `json:"vm"`
	// Deny lists the verbs, such as "info-set", for which the host asks for the privileged channel.
	Deny []string `json:"deny"`
	// Disable lists the verbs that the host takes by no channel.
	Disable []string `json:"disable"`
	// Hang makes vmware-rpctool answer nothing for an hour.
	Hang bool `json:"hang"`
	// Privileged is what vmtoolsd does with a command: "works", "refused", "fails" or "hangs".
	Privileged string `json:"privileged"`
}

func main() {
	daemon := filepath.Base(os.Args[0]) == "vmtoolsd"
	args := os.Args[1:]
	if daemon && slices.Equal(args, []string{"--version"}) {
		fmt.Println("VMware Tools daemon, version 12.5.0.51152")
		return
	}
	if daemon && len(args) == 2 && args[0] == "--cmd" {
		args = args[1:]
	} else if daemon || len(args) != 1 {
		fail("Usage: %s", os.Args[0])
	}
	s := read()
	verb, _, _ := strings.Cut(args[0], " ")
	switch {
	case daemon && s.Privileged == "hangs", !daemon && s.Hang:
		time.Sleep(time.Hour)
	case daemon && s.Privileged == "fails":
		// What is printed for an answer that is a null pointer, where no channel can be opened.
		fail("NULL")
	case daemon && s.Privileged == "refused", !daemon && slices.Contains(s.Deny, verb):
		fail("Permission denied")
	case slices.Contains(s.Disable, verb):
		fail("Unknown command")
	}
	ok, answer, err := call(s, args[0])
	if err != nil {
		fail("rpctool: %v", err)
	}
	if !ok {
		fail("%s", answer)
	}
	fmt.Println(answer)
}

func read() (s settings) {
	// Not os.Executable, which would follow a link to the one binary that all share.
	file := filepath.Join(filepath.Dir(os.Args[0]), "rpctool.json")
	text, err := os.ReadFile(file)
	if err != nil {
		fail("rpctool: %v", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		fail("rpctool: %s: %v", file, err)
	}
	return s
}

func call(s settings, command string) (ok bool, text string, err error) {
	body, err := json.Marshal(map[string]string{"vm": s.VM, "command": command})
	if err != nil {
		return false, "", err
	}
	conn, err := net.Dial("tcp", s.Control)
	if err != nil {
		return false, "", err
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /rpc HTTP/1.0\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", s.Control, len(body), body)
	if err != nil {
		return false, "", err
	}
	reader := bufio.NewReader(conn)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return false, "", err
		}
		if line == "\r\n" {
			break
		}
	}
	var answer struct {
		OK    bool   `json:"ok"`
		Text  string `json:"text"`
		Error string `json:"error"`
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		return false, "", err
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return false, "", err
	}
	if answer.Error != "" {
		return false, "", fmt.Errorf("%s", answer.Error)
	}
	return answer.OK, answer.Text, nil
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}
