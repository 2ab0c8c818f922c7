// Lists the flags that vsphere-cloud-controller-manager takes, one a line, with tabs between: name, shorthand, type, what a
// bare flag means, default. ../flags.tsv is what it prints; after a change of the version in go.mod, make it anew here:
//
//	CGO_ENABLED=0 go run -mod=mod . > ../flags.tsv
package main

import (
	goflag "flag"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere"
	voptions "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/options"
	// Its flags are known whichever provider is chosen.
	_ "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphereparavirtual"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/version/verflag"
)

func main() {
	known, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		panic(err)
	}
	cmd := &cobra.Command{Use: "vsphere-cloud-controller-manager", Run: func(*cobra.Command, []string) {}}
	sets := known.Flags(app.ControllerNames(app.DefaultInitFuncConstructors), app.ControllersDisabledByDefault.List(), names.CCMControllerAliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks)
	verflag.AddFlags(sets.FlagSet("global"))
	globalflag.AddGlobalFlags(sets.FlagSet("global"), cmd.Name())
	voptions.AddFlags(sets.FlagSet("cloud-node-controller"))
	for _, set := range sets.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	cmd.Flags().Lookup("cloud-provider").DefValue = vsphere.RegisteredProviderName
	pflag.CommandLine.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	pflag.CommandLine.AddGoFlagSet(goflag.CommandLine)
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(nil); err != nil {
		panic(err)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		fmt.Printf("%s\t%s\t%s\t%s\t%s\n", f.Name, f.Shorthand, f.Value.Type(), f.NoOptDefVal, f.DefValue)
	})
}
