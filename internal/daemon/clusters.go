package daemon

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/broker"
	"github.com/godwit-hpc/godwit/internal/calibrate"
	"github.com/godwit-hpc/godwit/internal/checkpoint/sandbox"
	"github.com/godwit-hpc/godwit/internal/config"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/world"
)

// clusters makes the clusters of the settings. What it returns to be closed is
// to be closed even if it fails.
func clusters(ctx context.Context, o Options, cfg *config.Config) ([]broker.Cluster, []io.Closer, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	var list []broker.Cluster
	var closers []io.Closer
	for _, c := range cfg.Clusters {
		speed := c.Speed
		if speed == 0 {
			if speed, err = calibrate.Speed(ctx, c.CPUs[0], filepath.Join(o.State, "speed.json")); err != nil {
				return nil, closers, complain(c.Name, err)
			}
		}
		d, err := local.New(local.Options{Cluster: c.Name, Dir: filepath.Join(o.State, "clusters", c.Name), Agent: o.Agent,
			CPUs: c.CPUs, Slots: c.Slots, Quota: c.Quota, Memory: c.Memory, Nice: c.Nice, Sample: cfg.Sample, Log: o.Log})
		if err != nil {
			return nil, closers, complain(c.Name, err)
		}
		closers = append(closers, d)
		for _, n := range d.Notes() {
			o.Log.Warn(n, "cluster", c.Name)
		}
		list = append(list, broker.Cluster{Name: c.Name, Kind: "local", Driver: d, HostNames: []string{host}, Nice: c.Nice, Methods: methods,
			Hosts: []world.HostSpec{{Procs: c.Slots, Speed: speed, Memory: c.Memory}}})
	}
	return list, closers, nil
}

// methods lists the checkpoint methods that work on this machine.
func methods(ctx context.Context) []string {
	list := []string{"signal", "exit85", "restart"}
	if ok, _ := sandbox.Available(ctx); ok {
		list = append([]string{"sandbox"}, list...)
	}
	return list
}
