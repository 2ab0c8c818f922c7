// Package crds has what the monitoring manifests need of the Prometheus operator: two of its CRDs, made of its Go types,
// without their descriptions. "go generate" makes them anew.
package crds

//go:generate go tool controller-gen crd:maxDescLen=0 paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1 output:crd:dir=all
//go:generate mv all/monitoring.coreos.com_prometheusrules.yaml all/monitoring.coreos.com_servicemonitors.yaml .
//go:generate rm -r all

import _ "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
