module rollcall.dev/list-flags

go 1.26.0

require k8s.io/cloud-provider-vsphere v1.36.0

replace github.com/vmware-tanzu/vm-operator/pkg/constants/testlabels => github.com/vmware-tanzu/vm-operator/pkg/constants/testlabels v1.9.1-0.20251029150609-93918c59a719
