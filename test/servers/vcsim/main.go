// A vCenter for tests: govmomi's simulator behind a front that counts calls and injects faults, and with a control port
// for what the simulator's own interface cannot change.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "github.com/vmware/govmomi/cns/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"

	_ "rollcall.dev/test/servers/lifeline"
)

// announcement is the first line on standard output, and says that the server is ready.
type announcement struct {
	URL         string `json:"url"`
	ControlURL  string `json:"controlUrl"`
	Certificate string `json:"certificateFile"`
}

func main() {
	// Whoever is killed takes the other end of our output with it; the folder is to be removed nevertheless.
	signal.Ignore(syscall.SIGPIPE)
	var inv inventory
	listen := flag.String("listen", "127.0.0.1:0", "address of the vCenter")
	user := flag.String("user", "administrator@vsphere.local", "the one user that may log in")
	password := flag.String("password", "secret", "and the password")
	certificate := flag.String("certificate", "vcsim.crt", "file to write the certificate to")
	flag.IntVar(&inv.datacenters, "dcs", 1, "datacenters")
	flag.IntVar(&inv.clusters, "clusters", 1, "clusters in each datacenter")
	flag.IntVar(&inv.hosts, "hosts", 3, "hosts in each cluster")
	flag.IntVar(&inv.vms, "vms", 3, "virtual machines in all, spread over clusters and hosts in turn")
	flag.IntVar(&inv.cpus, "cpus", 2, "virtual CPUs of each machine")
	flag.IntVar(&inv.memoryMB, "memory", 4096, "memory of each machine in MB")
	flag.IntVar(&inv.disks, "disks", 1, "disks of each machine")
	flag.StringVar(&inv.guestID, "guest-id", "ubuntu64Guest", "guest OS of each machine")
	flag.StringVar(&inv.apiVersion, "api-version", "", "of the API, as the vCenter says of itself; else the simulator's own")
	flag.StringVar(&inv.seed, "seed", "", "changes every UUID and MAC, for a second vCenter beside the first")
	flag.Parse()
	log.SetFlags(0)

	model, err := inv.create()
	if err != nil {
		log.Fatalf("creating the inventory: %v", err)
	}
	tlsConfig, err := selfSigned(*certificate, 7*24*time.Hour)
	if err != nil {
		log.Fatalf("creating the certificate: %v", err)
	}

	service := model.Service
	service.TLS = tlsConfig
	service.Listen = &url.URL{Host: *listen, User: url.UserPassword(*user, *password)}
	service.RegisterEndpoints = true
	renewals := renewable(service, *certificate)
	server := service.NewServer()
	renewals.server = server
	front := newFront(service.ServeMux)
	server.Config.Handler = front

	control, err := serveControl(newControl(service, front, &inv, model.ServiceContent, renewals))
	if err != nil {
		log.Fatalf("opening the control port: %v", err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(announcement{
		URL:         "https://" + server.URL.Host,
		ControlURL:  control,
		Certificate: *certificate,
	})

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	// Not server.Close: it waits for long polls and for requests that a fault holds.
	model.Remove()
}
