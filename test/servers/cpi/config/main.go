// Command cpi-config prints what the vSphere CPI makes of configuration files, by the CPI's own reader.
//
// It reads a JSON list of files from its input, each with the environment that it is read in, and writes a JSON list of
// what became of each: the configuration, or the error.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/config"
	"k8s.io/klog/v2"
)

type file struct {
	Text        string            `json:"text"`
	Environment map[string]string `json:"environment"`
}

type outcome struct {
	Config *config.CPIConfig `json:"config,omitempty"`
	Error  string            `json:"error,omitempty"`
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
		outcomes = append(outcomes, read(each))
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

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
