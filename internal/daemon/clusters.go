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
	measured, err := speeds(ctx, o, cfg)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range cfg.Clusters {
		speed := c.Speed
		if speed == 0 {
			speed = measured[calibrate.Model(c.CPUs[0])]
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

// speeds measures the models of CPUs whose speed the settings do not say. All of
// one model are equally fast, whatever disturbed the measurement of one.
func speeds(ctx context.Context, o Options, cfg *config.Config) (map[string]float64, error) {
	list := map[string]float64{}
	for _, c := range cfg.Clusters {
		if c.Speed != 0 {
			continue
		}
		speed, err := calibrate.Speed(ctx, c.CPUs[0], filepath.Join(o.State, "speed.json"))
		if err != nil {
			return nil, complain(c.Name, err)
		}
		model := calibrate.Model(c.CPUs[0])
		list[model] = max(list[model], speed)
	}
	return list, nil
}

// methods lists the checkpoint methods that work on this machine.
func methods(ctx context.Context) []string {
	list := []string{"signal", "exit85", "restart"}
	if ok, _ := sandbox.Available(ctx); ok {
		list = append([]string{"sandbox"}, list...)
	}
	return list
}
