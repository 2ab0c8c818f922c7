package main

import (
	"context"
	"crypto/sha1"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// inventory says what the vCenter holds. The same inventory has the same names, references, UUIDs and MACs every time.
type inventory struct {
	datacenters, clusters, hosts, vms int
	cpus, memoryMB, disks             int
	guestID, seed, apiVersion         string
}

// firstCardKey is the device key that vSphere gives a machine's first network card.
const firstCardKey = 4000

// place is where a virtual machine can be created.
type place struct {
	name    string
	folder  *object.Folder
	pool    *object.ResourcePool
	network types.BaseVirtualDeviceBackingInfo
	hosts   []*object.HostSystem
}

// create makes everything but the machines by the simulator's own model, whose machines come in one kind, with MACs that
// repeat, on hosts drawn by lot, and at 40 ms each.
func (inv *inventory) create() (*simulator.Model, error) {
	model := simulator.VPX()
	model.Datacenter = inv.datacenters
	model.Cluster = inv.clusters
	model.ClusterHost = inv.hosts
	model.Host = 0
	model.Machine = 0
	model.ServiceContent.About.InstanceUuid = inv.uuid("vcenter")
	if inv.apiVersion != "" {
		model.ServiceContent.About.ApiVersion = inv.apiVersion
	}
	if err := model.Create(); err != nil {
		return nil, err
	}
	ctx := model.Service.Context
	client, err := vim25.NewClient(ctx, model.Service)
	if err != nil {
		return nil, err
	}
	places, err := inv.places(ctx, client)
	if err != nil {
		return nil, err
	}
	for i := range inv.vms {
		p, n := places[i%len(places)], i/len(places)
		name := fmt.Sprintf("%s_RP0_VM%d", p.name, n)
		id := identity{name: name, key: name, serial: i}
		if _, err := inv.createVM(ctx, p, p.hosts[n%len(p.hosts)], id); err != nil {
			return nil, fmt.Errorf("virtual machine %d: %w", i, err)
		}
	}
	return model, nil
}

func (inv *inventory) places(ctx context.Context, client *vim25.Client) ([]place, error) {
	finder := find.NewFinder(client)
	clusters, err := finder.ClusterComputeResourceList(ctx, "/...")
	if err != nil {
		return nil, err
	}
	var places []place
	for _, cluster := range clusters {
		datacenter := "/" + strings.Split(cluster.InventoryPath, "/")[1]
		p := place{name: cluster.Name()}
		if p.hosts, err = cluster.Hosts(ctx); err != nil {
			return nil, err
		}
		if p.pool, err = cluster.ResourcePool(ctx); err != nil {
			return nil, err
		}
		if p.folder, err = finder.Folder(ctx, datacenter+"/vm"); err != nil {
			return nil, err
		}
		network, err := finder.Network(ctx, datacenter+"/network/*_DVPG0")
		if err != nil {
			return nil, err
		}
		if p.network, err = network.EthernetCardBackingInfo(ctx); err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	return places, nil
}

// identity is what tells a machine from all others.
type identity struct {
	name string
	// key decides the UUIDs, and is the name of its folder on the datastore.
	key string
	// serial decides the MACs.
	serial int
	// cards is how many network cards it has beyond the first.
	cards int
}

func (inv *inventory) createVM(ctx *simulator.Context, p place, host *object.HostSystem, id identity) (types.ManagedObjectReference, error) {
	none := types.ManagedObjectReference{}
	spec, err := inv.spec(id, p.network)
	if err != nil {
		return none, err
	}
	task, err := p.folder.CreateVM(ctx, spec, p.pool, host)
	if err != nil {
		return none, err
	}
	result, err := waitFor(ctx, task)
	if err != nil {
		return none, err
	}
	ref := result.(types.ManagedObjectReference)
	// The simulator lists the vNICs here from the start; a real vCenter knows nothing until VMware Tools runs.
	created := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	ctx.WithLock(created, func() {
		created.Guest.Net = nil
		furnish(created, inv.disks)
	})
	vm := object.NewVirtualMachine(p.folder.Client(), ref)
	if task, err = vm.PowerOn(ctx); err != nil {
		return none, err
	}
	_, err = waitFor(ctx, task)
	return ref, err
}

func (inv *inventory) spec(id identity, network types.BaseVirtualDeviceBackingInfo) (types.VirtualMachineConfigSpec, error) {
	const datastore = "[LocalDS_0]"
	var devices object.VirtualDeviceList
	scsi, err := devices.CreateSCSIController("pvscsi")
	if err != nil {
		return types.VirtualMachineConfigSpec{}, err
	}
	disk := devices.CreateDisk(scsi.(types.BaseVirtualController), types.ManagedObjectReference{}, datastore+" "+path.Join(id.key, "disk1.vmdk"))
	disk.CapacityInKB = 10 << 20
	devices = append(devices, scsi, disk)
	for n := range 1 + id.cards {
		card, err := devices.CreateEthernetCard("vmxnet3", network)
		if err != nil {
			return types.VirtualMachineConfigSpec{}, err
		}
		nic := card.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
		nic.Key = firstCardKey + int32(n)
		nic.AddressType = string(types.VirtualEthernetCardMacTypeManual)
		nic.MacAddress = inv.mac(id.serial, n)
		devices = append(devices, card)
	}
	changes, err := devices.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	if err != nil {
		return types.VirtualMachineConfigSpec{}, err
	}
	return types.VirtualMachineConfigSpec{
		Name:         id.name,
		GuestId:      inv.guestID,
		Uuid:         inv.uuid("bios/" + id.key),
		InstanceUuid: inv.uuid("instance/" + id.key),
		NumCPUs:      int32(inv.cpus),
		MemoryMB:     int64(inv.memoryMB),
		Files:        &types.VirtualMachineFileInfo{VmPathName: datastore + " " + path.Join(id.key, id.name+".vmx")},
		DeviceChange: changes,
	}, nil
}

// waitFor looks at the task itself: waiting for it as a client does costs 20 ms, a thousand times over.
func waitFor(ctx *simulator.Context, task *object.Task) (types.AnyType, error) {
	self := ctx.Map.Get(task.Reference()).(*simulator.Task)
	for {
		var info types.TaskInfo
		ctx.WithLock(self, func() { info = self.Info })
		switch info.State {
		case types.TaskInfoStateSuccess:
			return info.Result, nil
		case types.TaskInfoStateError:
			return nil, fmt.Errorf("%s: %s", info.DescriptionId, info.Error.LocalizedMessage)
		}
		time.Sleep(20 * time.Microsecond)
	}
}

func (inv *inventory) uuid(name string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("rollcall/"+inv.seed+"/"+name)).String()
}

// mac counts through the range that VMware keeps for addresses set by hand, from a start that the seed decides.
func (inv *inventory) mac(serial, card int) string {
	start := sha1.Sum([]byte(inv.seed))
	return fmt.Sprintf("00:50:56:%02x:%02x:%02x", (int(start[0])+card)&0x3f, serial>>8&0xff, serial&0xff)
}
