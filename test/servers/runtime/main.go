// A stand-in for a container runtime, by Kubernetes' own fake of one: its one argument is the endpoint, as
// unix:///run/runtime.sock. A kubelet with it registers its Node and sends heartbeats; its Pods exist on paper alone.
package main

import (
	"fmt"
	"os"

	"k8s.io/cri-client/pkg/fake"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: runtime ENDPOINT")
		os.Exit(2)
	}
	if err := fake.NewFakeRemoteRuntime().Start(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "runtime: %v\n", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	select {}
}
