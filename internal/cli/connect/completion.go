package connect

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// RunningBroker is the broker that a command would ask, whether it answers or not; nil
// if it cannot be told. None is started: completion must not wait.
func RunningBroker() *api.Client {
	state, err := api.StateDir()
	if err != nil {
		return nil
	}
	socket := cmp.Or(os.Getenv(api.SocketSetting), api.SocketPath(state))
	if _, err := os.Stat(socket); err != nil && api.CheckTrusted(api.SharedSocket) == nil {
		socket = api.SharedSocket
	}
	return api.DialBroker(socket)
}

// CompleteClusters offers the names of the clusters: those of the broker, or, where none
// runs, those of the settings.
func (a *Connector) CompleteClusters(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if c := RunningBroker(); c != nil {
		defer c.Close()
		if clusters, err := c.ListClusters(cmd.Context()); err == nil {
			for i := range clusters {
				names = append(names, clusters[i].Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		}
	}
	cpus, err := local.UsableCPUs()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cfg, err := config.LoadSettings("", os.Getenv, cpus)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for i := range cfg.Clusters {
		names = append(names, cfg.Clusters[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
