// Command cpi-config prints what the vSphere CPI makes of configuration files and of Secrets, by the CPI's own readers.
//
// It reads a JSON list from its input: files, each with the environment that it is read in, and Secrets, each with the
// server whose credential is looked for. It writes a JSON list of what became of each: the configuration or the
// credential, or the error.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/config"
	"k8s.io/cloud-provider-vsphere/pkg/common/credentialmanager"
	"k8s.io/klog/v2"
)

type file struct {
	Text        string            `json:"text"`
	Environment map[string]string `json:"environment"`
	Secret      map[string]string `json:"secret"`
	Server      string            `json:"server"`
}

type outcome struct {
	Config *config.CPIConfig `json:"config,omitempty"`
	Error  string            `json:"error,omitempty"`

	Credential *credentialmanager.Credential `json:"credential,omitempty"`
}

func main() {
	flags := flag.NewFlagSet("klog", flag.ExitOnError)
	klog.InitFlags(flags)
	must(flags.Set("logtostderr", "false"))
	klog.SetOutput(io.Discard)

	var files []file
	must(json.NewDecoder(os.Stdin).Decode(&files))
	outcomes := make([]outcome, 0, len(files))
	for _, each := range files {
		if each.Secret == nil {
			outcomes = append(outcomes, read(each))
		} else {
			outcomes = append(outcomes, find(each))
		}
	}
	must(json.NewEncoder(os.Stdout).Encode(outcomes))
}

// read reads a file as the CPI would. Its readers panic on some files.
func read(each file) (result outcome) {
	os.Clearenv()
	for name, value := range each.Environment {
		must(os.Setenv(name, value))
	}
	defer func() {
		if reason := recover(); reason != nil {
			result = outcome{Error: fmt.Sprintf("panic: %v", reason)}
		}
	}()
	cfg, err := config.ReadCPIConfig([]byte(each.Text))
	if err != nil {
		return outcome{Error: err.Error()}
	}
	return outcome{Config: cfg}
}

// find looks into the keys as into files of a folder: what the CPI parses then is the same, and no API server is needed.
func find(each file) outcome {
	folder, err := os.MkdirTemp("", "cpi-config-")
	must(err)
	defer os.RemoveAll(folder)
	for key, value := range each.Secret {
		must(os.WriteFile(filepath.Join(folder, key), []byte(value), 0o600))
	}
	found, err := credentialmanager.NewCredentialManager("", "", folder, nil).GetCredential(each.Server)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	return outcome{Credential: found}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
