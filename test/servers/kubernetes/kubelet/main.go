// kubelet as upstream's cmd/kubelet, with a lifeline to the test that started it.
package main

import (
	"context"
	"os"

	_ "rollcall.dev/test/servers/lifeline"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
}
