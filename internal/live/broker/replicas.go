package broker

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/live/broker/replica"
)

// replicaSetting is the name under which the table of the broker's own user is stored,
// usersSetting that of the tables of all others.
const (
	replicaSetting = "replicas"
	usersSetting   = "replicas of users"
)

// keepReplicas makes the tables durable together with the turn.
func (t *turn) keepReplicas() {
	if t.batch.Settings == nil {
		t.batch.Settings = map[string]string{}
	}
	t.batch.Settings[replicaSetting] = t.b.replicas.EncodeJSON()
	t.batch.Settings[routesSetting] = t.b.routes.EncodeJSON()
	if t.b.opt.Users != nil {
		t.batch.Settings[usersSetting] = t.b.userReplicas.EncodeJSON()
	}
}

// loadReplicas reads the tables.
func (b *Broker) loadReplicas(ctx context.Context) error {
	for _, s := range []struct {
		name string
		load func(text string)
	}{{replicaSetting, b.replicas.LoadJSON}, {routesSetting, b.routes.LoadJSON}, {usersSetting, b.userReplicas.LoadJSON}} {
		text, err := b.opt.Store.GetSetting(ctx, s.name)
		if err != nil {
			return err
		}
		s.load(text)
	}
	return nil
}

// replicasOf is the table of who asks: nobody learns from it what others have.
func (b *Broker) replicasOf(ctx context.Context) *replica.Table {
	switch u, err := b.requestUser(ctx); {
	case err != nil:
		return new(replica.Table)
	case u.ID == 0:
		return &b.replicas
	default:
		return b.userReplicas.TableOf(u.ID)
	}
}

// stagedRoots are the trees that jobs were, or are to be, given besides their
// work folders.
func (b *Broker) stagedRoots(ctx context.Context) ([]string, error) {
	roots := b.replicas.KeepRecent(b.brokerTime())
	roots = append(roots, b.userReplicas.KeepRecent(b.brokerTime())...)
	err := b.askLoop(ctx, func(t *turn) {
		t.keepReplicas()
		for _, a := range b.partial { // order-free: a set
			for _, in := range a.Template.Inputs {
				if in.Tree != "" {
					roots = append(roots, in.Tree)
				}
			}
		}
		for _, j := range b.jobs { // order-free: a set
			for _, in := range j.rec.Inputs {
				if in.Tree != "" {
					roots = append(roots, in.Tree)
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return roots, nil
}
