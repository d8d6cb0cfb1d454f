// Package pool unites several hosts, each with a driver of its own, into one
// cluster: an attempt runs on the hosts that its processors belong to, its agent on
// the first of them; a parallel program comes to the others by itself. The package
// decides which host is whose; it must not know how hosts are reached.
package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Member is one host.
type Member struct {
	Name   string // under which the other hosts reach it
	Procs  int    // that it offers
	Driver driver.Driver
}

// Driver is the hosts as one cluster. It may be used by several goroutines.
type Driver struct {
	cluster string
	members []Member
}

var (
	_ driver.Driver    = (*Driver)(nil)
	_ driver.Surveyor  = (*Driver)(nil)
	_ driver.Explainer = (*Driver)(nil)
)

// New makes a cluster of hosts. The processors of the cluster are numbered host by
// host, in this order.
func New(cluster string, members []Member) (*Driver, error) {
	if len(members) == 0 {
		return nil, fmt.Errorf("cluster %s: it has no hosts", cluster)
	}
	return &Driver{cluster: cluster, members: slices.Clone(members)}, nil
}

// SetProcs says how many processors each host offers, before any attempt is started.
func (d *Driver) SetProcs(procs []int) {
	for i := range d.members {
		d.members[i].Procs = procs[i]
	}
}

// StartAttempt starts the attempt's agent on the first of its hosts.
func (d *Driver) StartAttempt(ctx context.Context, a *wire.Attempt) error {
	part, err := d.placeAttempt(a)
	if err != nil {
		return fmt.Errorf("start job %d, attempt %d, on %s: %w", a.Job, a.Epoch, d.cluster, err)
	}
	whole := *a
	whole.Hosts, whole.Held = part.hosts, part.held
	return d.members[part.first].Driver.StartAttempt(ctx, &whole)
}

// ReleaseAttempt releases the attempt wherever it may be. A launcher of a parallel program
// dies with the agent's host, and what it launched with the launcher.
func (d *Driver) ReleaseAttempt(ctx context.Context, id driver.ID) error {
	return d.onAllHosts(func(m *Member) error { return m.Driver.ReleaseAttempt(ctx, id) })
}

// FindAttempts lists the attempts of all hosts.
func (d *Driver) FindAttempts(ctx context.Context) ([]driver.Found, error) {
	var mu sync.Mutex
	var found []driver.Found
	err := d.onAllHosts(func(m *Member) error {
		list, err := m.Driver.FindAttempts(ctx)
		mu.Lock()
		defer mu.Unlock()
		found = append(found, list...)
		return err
	})
	slices.SortFunc(found, func(a, b driver.Found) int { return driver.CompareIDs(a.ID, b.ID) })
	return found, err
}

// MeasureLoad is that of the busiest host within reach: a program that is spread runs at its
// pace. The cluster is out of reach if all of them are.
func (d *Driver) MeasureLoad(ctx context.Context) (driver.Load, error) {
	loads, errs := make([]driver.Load, len(d.members)), make([]error, len(d.members))
	var work sync.WaitGroup
	for i := range d.members {
		work.Go(func() { loads[i], errs[i] = d.members[i].Driver.MeasureLoad(ctx) })
	}
	work.Wait()
	worst := driver.Load{Share: 2}
	var away []int
	var names []string
	for i, l := range loads {
		switch name := d.members[i].Name; {
		case errors.Is(errs[i], driver.ErrAway):
			away, names = append(away, i), append(names, name)
		case errs[i] != nil:
			return driver.Load{}, errs[i]
		case l.Share < worst.Share:
			worst = l
			worst.Why = name + ": " + l.Why
		}
	}
	if len(away) == len(d.members) {
		return driver.Load{}, fmt.Errorf("%s of cluster %s: %w", strings.Join(names, ", "), d.cluster, errors.Join(errs...))
	}
	if worst.Away = away; len(away) > 0 {
		worst.Why += "; out of reach: " + strings.Join(names, ", ")
	}
	return worst, nil
}

// SurveyHosts lists all hosts; what of checkpoints works on all of them works here.
func (d *Driver) SurveyHosts(ctx context.Context) (*driver.Survey, error) {
	surveys := make([]*driver.Survey, len(d.members))
	err := d.onAllHosts(func(m *Member) (err error) {
		i := slices.IndexFunc(d.members, func(o Member) bool { return o.Name == m.Name })
		surveys[i] = &driver.Survey{Hosts: []driver.Host{{Name: m.Name, Procs: m.Procs}}}
		if s, ok := m.Driver.(driver.Surveyor); ok {
			surveys[i], err = s.SurveyHosts(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	whole := *surveys[0]
	whole.Hosts, whole.Notes = nil, nil
	for i, s := range surveys {
		if len(s.Hosts) != 1 {
			return nil, fmt.Errorf("cluster %s: %s is not one host but %d", d.cluster, d.members[i].Name, len(s.Hosts))
		}
		whole.Hosts = append(whole.Hosts, s.Hosts...)
		whole.CPUFeatures, whole.Methods = intersectMethods(whole.CPUFeatures, s.CPUFeatures),
			intersectMethods(whole.Methods, s.Methods)
		for _, n := range s.Notes {
			whole.Notes = append(whole.Notes, d.members[i].Name+": "+n)
		}
	}
	return &whole, nil
}

// ExplainWait says why an attempt waits, on whatever host it does.
func (d *Driver) ExplainWait(ctx context.Context, id driver.ID) (string, error) {
	for i := range d.members {
		if e, ok := d.members[i].Driver.(driver.Explainer); ok {
			if why, err := e.ExplainWait(ctx, id); err == nil && why != "" {
				return why, nil
			}
		}
	}
	return "", nil
}

// onAllHosts does something on all hosts at once.
func (d *Driver) onAllHosts(do func(*Member) error) error {
	errs := make([]error, len(d.members))
	var work sync.WaitGroup
	for i := range d.members {
		work.Go(func() { errs[i] = do(&d.members[i]) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// intersectMethods is what both lists have; nil, which is not known, if either is.
func intersectMethods(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	both := []string{}
	for _, s := range a {
		if slices.Contains(b, s) {
			both = append(both, s)
		}
	}
	return both
}
