// Command cpi-addresses prints the addresses that the vSphere CPI chooses for Nodes, by the CPI's own code.
//
// It reads a JSON list of configurations from its input, each with machines as VMware Tools report them, and writes for each
// machine the Node's addresses, or the error. The CPI runs against a vCenter inside this process; in a configuration @HOST@
// and @PORT@ stand for it.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	_ "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere"
	"k8s.io/cloud-provider/node/helpers"
	"k8s.io/klog/v2"
)

const nodeName = "worker-1"

type configuration struct {
	Text     string    `json:"text"`
	Machines []machine `json:"machines"`
}

type machine struct {
	NICs []nic `json:"nics"`
	// Guestinfo is the machine's extra configuration.
	Guestinfo map[string]string `json:"guestinfo"`
	// NodeIP is the kubelet's annotation.
	NodeIP *string `json:"nodeIP"`
}

type nic struct {
	MAC            string   `json:"mac"`
	Network        string   `json:"network"`
	DeviceConfigID int32    `json:"deviceConfigID"`
	Addresses      []string `json:"addresses"`
}

type outcome struct {
	Addresses []corev1.NodeAddress `json:"addresses,omitempty"`
	Error     string               `json:"error,omitempty"`
}

func main() {
	flags := flag.NewFlagSet("klog", flag.ExitOnError)
	klog.InitFlags(flags)
	must(flags.Set("logtostderr", "false"))
	must(flags.Set("stderrthreshold", "FATAL"))
	klog.SetOutput(io.Discard)
	os.Clearenv()
	must(os.Setenv("ENABLE_ALPHA_DUAL_STACK", "1"))

	var configurations []configuration
	must(json.NewDecoder(os.Stdin).Decode(&configurations))

	model := simulator.VPX()
	model.Cluster, model.Host, model.Machine = 0, 1, 1
	must(model.Create())
	defer model.Remove()
	model.Service.TLS = new(tls.Config)
	server := model.Service.NewServer()
	defer server.Close()
	address := strings.NewReplacer("@HOST@", server.URL.Hostname(), "@PORT@", server.URL.Port())
	vm := model.Map().Any("VirtualMachine").(*simulator.VirtualMachine)

	outcomes := make([][]outcome, 0, len(configurations))
	for _, each := range configurations {
		results := make([]outcome, 0, len(each.Machines))
		provider, err := open(address.Replace(each.Text))
		for _, machine := range each.Machines {
			if err != nil {
				results = append(results, outcome{Error: err.Error()})
				continue
			}
			machine.apply(vm)
			results = append(results, machine.ask(provider))
		}
		outcomes = append(outcomes, results)
	}
	must(json.NewEncoder(os.Stdout).Encode(outcomes))
}

// open starts the CPI with a configuration. It needs no API server for this, only a client of one.
func open(config string) (cloudprovider.Interface, error) {
	provider, err := cloudprovider.GetCloudProvider("vsphere", strings.NewReader(config))
	if err != nil {
		return nil, err
	}
	provider.Initialize(clients{}, nil)
	return provider, nil
}

func (m *machine) apply(vm *simulator.VirtualMachine) {
	vm.Guest.HostName = nodeName
	vm.Guest.Net = nil
	for _, nic := range m.NICs {
		vm.Guest.Net = append(vm.Guest.Net, types.GuestNicInfo{
			Network:        nic.Network,
			MacAddress:     nic.MAC,
			DeviceConfigId: nic.DeviceConfigID,
			IpAddress:      nic.Addresses,
		})
	}
	vm.Config.ExtraConfig = nil
	for key, value := range m.Guestinfo {
		vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
}

// ask does what the CPI's node controller does with a new Node: the provider's addresses, then the kubelet's choice.
func (m *machine) ask(provider cloudprovider.Interface) outcome {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
	instances, _ := provider.InstancesV2()
	metadata, err := instances.InstanceMetadata(context.Background(), node)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	addresses := metadata.NodeAddresses
	if m.NodeIP != nil {
		if addresses, err = helpers.GetNodeAddressesFromNodeIP(*m.NodeIP, addresses); err != nil {
			return outcome{Error: err.Error()}
		}
	}
	return outcome{Addresses: addresses}
}

// clients make clients of an API server that nobody can reach.
type clients struct{}

func (clients) Config(string) (*rest.Config, error) {
	return &rest.Config{Host: "http://127.0.0.1:1"}, nil
}

func (c clients) ConfigOrDie(name string) *rest.Config {
	config, err := c.Config(name)
	must(err)
	return config
}

func (c clients) Client(name string) (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(c.ConfigOrDie(name))
}

func (c clients) ClientOrDie(name string) kubernetes.Interface {
	client, err := c.Client(name)
	must(err)
	return client
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
