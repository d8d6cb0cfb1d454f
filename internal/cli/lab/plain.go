package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// plainCluster is a cluster of a reduced lab in a settings file: some slots on
// processors that all clusters share.
type plainCluster struct {
	Name  string  `yaml:"name"`
	CPUs  string  `yaml:"cpus"`
	Slots int     `yaml:"slots"`
	Quota float64 `yaml:"quota,omitempty"`
}

// plainFile is where the settings of a reduced lab stand while it is up.
func plainFile(state, name string) string { return filepath.Join(state, "labs", name+".yaml") }

// plainLabs are the names of the reduced labs that are up.
func plainLabs() ([]string, error) {
	state, err := api.StateDir()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(plainFile(state, "*"))
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".yaml"))
	}
	return names, err
}

// plainUp starts a broker with the clusters of a plan as parts of this machine.
func (a *app) plainUp(ctx context.Context, p *lab.Plan) error {
	state, err := api.StateDir()
	if err != nil {
		return err
	}
	if err := noOtherBroker(ctx, state); err != nil {
		return err
	}
	settings, err := plainSettings(p)
	if err != nil {
		return err
	}
	file := plainFile(state, p.Name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return err
	}
	log := filepath.Join(state, "broker.log")
	died, err := startPlainBroker(state, file, log)
	if err == nil {
		err = a.awaitBroker(ctx, api.SocketPath(state), log, func() bool {
			select {
			case <-died:
				return false
			default:
				return true
			}
		})
	}
	if err != nil {
		return errors.Join(err, os.Remove(file))
	}
	a.SayLine(fmt.Sprintf("reduced lab %s is up: clusters of plain processes, without hosts, network and batch systems; "+
		"godwit lab down %s ends it", p.Name, p.Name))
	return nil
}

func plainSettings(p *lab.Plan) ([]byte, error) {
	cpus, err := local.UsableCPUs()
	if err != nil {
		return nil, err
	}
	var file struct {
		Clusters []plainCluster `yaml:"clusters"`
	}
	for i := range p.Clusters {
		c := &p.Clusters[i]
		x := plainCluster{Name: c.Name, CPUs: config.FormatCPUs(cpus) + ",", Slots: c.Hosts * c.Cores}
		x.CPUs = strings.TrimSuffix(x.CPUs, ",")
		if len(cpus) == 1 {
			x.CPUs = "all" // a number alone would be how many
		}
		if c.Host.CPUs > 0 && c.Host.CPUs < 1 {
			x.Quota = c.Host.CPUs
		}
		file.Clusters = append(file.Clusters, x)
	}
	return yaml.Marshal(file)
}

func startPlainBroker(state, file, log string) (died <-chan struct{}, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the broker has its own
	cmd := exec.Command(exe, "up", "--config", file)
	cmd.Dir, cmd.Env = state, append(os.Environ(), "GODWIT_STATE="+state)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // what it says is in its log
		close(ended)
	}()
	return ended, nil
}

// plainDown ends a reduced lab, if there is one of that name.
func (a *app) plainDown(ctx context.Context, name string) (bool, error) {
	state, err := api.StateDir()
	if err != nil {
		return false, err
	}
	file := plainFile(state, filepath.Base(name))
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	c := api.DialBroker(api.SocketPath(state))
	defer c.Close()
	if err := a.ShutDown(ctx, c); err != nil && !connect.NobodyThere(err) {
		return true, err
	}
	a.SayLine("reduced lab " + name + " is gone; jobs that run there run on")
	return true, os.Remove(file)
}
