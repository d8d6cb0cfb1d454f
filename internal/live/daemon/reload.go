package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// reloader reads the settings again while the broker runs.
type reloader struct {
	g    *grid
	b    *broker.Broker
	cpus []int

	mu      sync.Mutex // one reload at a time
	current atomic.Pointer[settings]
}

// settings are what a broker runs by, and the text they were read from.
type settings struct {
	cfg *config.Config
	sum [sha256.Size]byte
}

// loadSettings reads the settings, and remembers by its sum what the file says.
func loadSettings(flag string, cpus []int) (*config.Config, [sha256.Size]byte, error) {
	sum := settingsSum(flag)
	cfg, err := config.LoadSettings(flag, os.Getenv, cpus)
	if err != nil {
		return nil, sum, err
	}
	for i := range cfg.Clusters { // who wants more processors than CPUs means it
		if c := &cfg.Clusters[i]; c.IsHere() && c.Slots <= len(c.CPUs) {
			c.Slots = local.UsableProcessors(c.Slots)
		}
	}
	return cfg, sum, nil
}

// settingsSum is the sum of the file of settings; of nothing if there is none.
func settingsSum(flag string) [sha256.Size]byte {
	path, _ := config.FindFile(flag, os.Getenv)
	text, err := os.ReadFile(path)
	if err != nil {
		text = nil
	}
	return sha256.Sum256(text)
}

// isStale reports whether the file of settings says something else than when it was
// read.
func (r *reloader) isStale() bool { return settingsSum(r.g.Config) != r.current.Load().sum }

// sizedSettings is the settings for people: with the sizes that clusters told.
func (r *reloader) sizedSettings() *config.Config {
	cfg := *r.current.Load().cfg
	cfg.Clusters = slices.Clone(cfg.Clusters)
	for i := range cfg.Clusters {
		c := &cfg.Clusters[i]
		if m := r.g.makers[c.Name]; m != nil && m.hosts.Load() != nil && c.Slots == 0 {
			for _, h := range *m.hosts.Load() {
				c.Slots += h.Procs
			}
		}
	}
	return &cfg
}

// atStart makes the clusters that a broker begins with: those of the settings, and
// those that the last broker had and that are not in them any more, where jobs may
// still run.
func (r *reloader) atStart(ctx context.Context) []broker.Cluster {
	g, cfg := r.g, r.current.Load().cfg
	g.makers = map[string]*clusterMaker{}
	var makers []*clusterMaker
	add := func(c config.Cluster) {
		m := &clusterMaker{g: g, cfg: c}
		g.makers[c.Name] = m
		makers = append(makers, m)
	}
	for _, c := range cfg.Clusters {
		add(c)
	}
	earlier, err := recallClusters(g.State)
	if err != nil {
		g.Log.Warn("the settings of earlier clusters cannot be read", "error", err)
	}
	for _, c := range earlier {
		if g.makers[c.Name] == nil {
			add(c)
		}
	}
	list := makeAll(ctx, makers)
	for i := len(cfg.Clusters); i < len(list); i++ {
		list[i].Removed = true
	}
	if err := rememberClusters(g.State, slices.Concat(cfg.Clusters, earlier)); err != nil {
		g.Log.Warn("the settings of clusters are not remembered", "error", err)
	}
	return list
}

// forgetClusters drops the settings of clusters that are not in those of today and where no
// job is.
func (r *reloader) forgetClusters(ctx context.Context) {
	jobs, err := r.b.JobsAt(ctx)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	earlier, err := recallClusters(r.g.State)
	if err == nil {
		earlier = slices.DeleteFunc(earlier, func(c config.Cluster) bool { return jobs[c.Name] == 0 })
		err = rememberClusters(r.g.State, slices.Concat(r.current.Load().cfg.Clusters, earlier))
	}
	if err != nil {
		r.g.Log.Warn("the settings of clusters are not remembered", "error", err)
	}
}

// reloadSettings reads the settings again and takes over what is new in them. Wrong ones
// are refused as a whole. Jobs run on.
func (r *reloader) reloadSettings(ctx context.Context) (api.Reloaded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg, sum, err := loadSettings(r.g.Config, r.cpus)
	if err != nil {
		return api.Reloaded{}, err
	}
	was := r.current.Load().cfg
	jobs, err := r.b.JobsAt(ctx)
	if err != nil {
		return api.Reloaded{}, err
	}
	answer, err := compareSettings(was, cfg, jobs)
	if err != nil {
		return api.Reloaded{}, err
	}
	if err := r.g.prepareClusters(ctx, cfg); err != nil {
		return api.Reloaded{}, err
	}
	list := r.remakeClusters(context.WithoutCancel(ctx), cfg, slices.Concat(answer.Added, answer.Changed))
	if err := rememberClusters(r.g.State, slices.Concat(cfg.Clusters, was.Clusters)); err != nil {
		return api.Reloaded{}, err
	}
	if err := r.b.ReconfigureClusters(ctx, list, cfg.Policy.Place); err != nil {
		return api.Reloaded{}, err
	}
	r.current.Store(&settings{cfg, sum})
	r.g.Log.Info("settings read again", "added", answer.Added, "changed", answer.Changed, "removed", answer.Removed)
	return answer, nil
}

// remakeClusters makes those clusters anew that are other ones now.
func (r *reloader) remakeClusters(ctx context.Context, cfg *config.Config, names []string) []broker.Cluster {
	var makers []*clusterMaker
	for _, c := range cfg.Clusters {
		m := r.g.makers[c.Name]
		if m == nil || slices.Contains(names, c.Name) {
			if err := r.g.closeCluster(c.Name); err != nil {
				r.g.Log.Warn("not closed", "cluster", c.Name, "error", err)
			}
			m = &clusterMaker{g: r.g, cfg: c}
			r.g.makers[c.Name] = m
		}
		makers = append(makers, m)
	}
	list := make([]broker.Cluster, len(makers))
	var all sync.WaitGroup
	for i, m := range makers {
		all.Go(func() {
			if last := m.last.Load(); last != nil && !slices.Contains(names, m.cfg.Name) {
				list[i] = *last
				return
			}
			list[i] = m.atStart(ctx)
		})
	}
	all.Wait()
	return list
}

// compareSettings says what is new in settings, and refuses what cannot be taken over.
func compareSettings(was, now *config.Config, jobs map[string]int) (api.Reloaded, error) {
	r := api.Reloaded{File: now.File}
	old := map[string]*config.Cluster{}
	for i := range was.Clusters {
		old[was.Clusters[i].Name] = &was.Clusters[i]
	}
	for i := range now.Clusters {
		c := &now.Clusters[i]
		before := old[c.Name]
		delete(old, c.Name)
		switch {
		case before == nil:
			r.Added = append(r.Added, c.Name)
		case !reflect.DeepEqual(before, c):
			if n := jobs[c.Name]; n > 0 && hasMoved(before, c) {
				return r, &badinput.Error{File: now.File, Field: "clusters." + c.Name,
					Want: fmt.Sprintf("driver, ssh and dir as they were: "+
						"%d jobs are there. Give the new place another name, or wait for the jobs", n)}
			}
			r.Changed = append(r.Changed, c.Name)
		}
	}
	for _, c := range was.Clusters {
		if old[c.Name] != nil {
			r.Removed = append(r.Removed, c.Name)
			r.Draining += jobs[c.Name]
		}
	}
	r.Place = now.Policy.Place != was.Policy.Place
	if was.Sample != now.Sample || !isSameTime(was.Grace, now.Grace) || was.Retry != now.Retry ||
		was.Weather != now.Weather || was.Keep != now.Keep || was.Limits != now.Limits ||
		was.Policy.Approach != now.Policy.Approach || was.Policy.Malleable != now.Policy.Malleable ||
		was.Policy.Predict != now.Policy.Predict || was.Policy.Tries != now.Policy.Tries ||
		!reflect.DeepEqual(was.Graces, now.Graces) {
		r.AtStart = true
	}
	return r, nil
}

// isSameTime compares two settings that may be left out.
func isSameTime(a, b *time.Duration) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// hasMoved reports whether attempts of a cluster would not be found any more.
func hasMoved(a, b *config.Cluster) bool {
	return a.Driver != b.Driver || a.SSH != b.SSH || !slices.Equal(a.SSHHosts, b.SSHHosts) || a.Dir != b.Dir
}

// catchHangUp has the settings read again at each SIGHUP from now on.
func (r *reloader) catchHangUp(ctx context.Context) {
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hangUp)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangUp:
				if _, err := r.reloadSettings(ctx); err != nil {
					r.g.Log.Error("the settings are not taken over; those of before stay", "error", err)
				}
			}
		}
	}()
}

// clustersFile holds the settings of clusters that jobs may still be in.
const clustersFile = "settings.json"

// rememberClusters keeps the settings of clusters for brokers that do not find them
// in theirs any more; the first of a name counts.
func rememberClusters(state string, list []config.Cluster) error {
	var once []config.Cluster
	for _, c := range list {
		if !slices.ContainsFunc(once, func(o config.Cluster) bool { return o.Name == c.Name }) {
			once = append(once, c)
		}
	}
	text, err := json.Marshal(once)
	if err != nil {
		return err
	}
	file := filepath.Join(state, "clusters", clustersFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// recallClusters are the clusters of brokers before.
func recallClusters(state string) ([]config.Cluster, error) {
	text, err := os.ReadFile(filepath.Join(state, "clusters", clustersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []config.Cluster
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
}
