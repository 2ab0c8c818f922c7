// kube-apiserver as upstream's cmd/kube-apiserver, with a lifeline to the test that started it.
package main

import (
	"os"

	_ "rollcall.dev/test/servers/lifeline"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
