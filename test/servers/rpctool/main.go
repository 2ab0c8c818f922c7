// A stand-in for vmware-rpctool: the same command line, exit codes and words, but the hypervisor's side is the
// simulator's control port. Which machine it runs "in" stands in a file beside it, since an agent clears the environment
// of what it runs.
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
	// Deny lists the verbs, such as "info-set", that the hypervisor's policy forbids.
	Deny []string `json:"deny"`
	// Hang makes the tool answer nothing for an hour.
	Hang bool `json:"hang"`
}

func main() {
	if len(os.Args) != 2 {
		fail("Usage: %s <command>", filepath.Base(os.Args[0]))
	}
	// Not os.Executable, which would follow a link to the one binary that all share.
	file := filepath.Join(filepath.Dir(os.Args[0]), "rpctool.json")
	text, err := os.ReadFile(file)
	if err != nil {
		fail("rpctool: %v", err)
	}
	var s settings
	if err := json.Unmarshal(text, &s); err != nil {
		fail("rpctool: %s: %v", file, err)
	}
	if s.Hang {
		time.Sleep(time.Hour)
	}
	verb, _, _ := strings.Cut(os.Args[1], " ")
	if slices.Contains(s.Deny, verb) {
		fail("Permission denied")
	}
	ok, answer, err := call(s, os.Args[1])
	if err != nil {
		fail("rpctool: %v", err)
	}
	if !ok {
		fail("%s", answer)
	}
	fmt.Println(answer)
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
