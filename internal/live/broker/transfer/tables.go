package transfer

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/live/broker/replica"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// The names under which the tables are stored: what is where, of the broker's own user and of all others, and which
// routes are closed.
const (
	replicaSetting = "replicas"
	usersSetting   = "replicas of users"
	routesSetting  = "ways"
)

// EncodeTables are the tables as they are stored, by their names. Those of other users are left out where there are
// none.
func (m *Mover) EncodeTables(severalUsers bool) map[string]string {
	tables := map[string]string{replicaSetting: m.replicas.EncodeJSON(), routesSetting: m.routes.EncodeJSON()}
	if severalUsers {
		tables[usersSetting] = m.userReplicas.EncodeJSON()
	}
	return tables
}

// LoadTables reads the tables from where they are stored by their names.
func (m *Mover) LoadTables(get func(name string) (string, error)) error {
	for _, s := range []struct {
		name string
		load func(text string)
	}{{replicaSetting, m.replicas.LoadJSON}, {routesSetting, m.routes.LoadJSON}, {usersSetting, m.userReplicas.LoadJSON}} {
		text, err := get(s.name)
		if err != nil {
			return err
		}
		s.load(text)
	}
	return nil
}

// replicasOf is the table of who asks: nobody learns from it what others have.
func (m *Mover) replicasOf(ctx context.Context) *replica.Table {
	switch user, err := m.grid.UserID(ctx); {
	case err != nil:
		return new(replica.Table)
	case user == 0:
		return &m.replicas
	default:
		return m.userReplicas.TableOf(user)
	}
}

// KeepRecent forgets what nobody has used for long, and lists the trees of the depot that the others are.
func (m *Mover) KeepRecent(now core.Time) []string {
	return append(m.replicas.KeepRecent(now), m.userReplicas.KeepRecent(now)...)
}
