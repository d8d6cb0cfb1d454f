package broker

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// replica is what is known of the content of a file at a site: its tree, and who
// keeps a copy: the depot, and clusters.
type replica struct {
	Site    string    `json:"site"` // of the original; with the path and the next two it names a content
	Path    string    `json:"path"`
	Size    int64     `json:"size"`
	ModTime int64     `json:"modTime"`
	Tree    string    `json:"tree"`
	At      []string  `json:"at,omitempty"` // clusters
	Used    core.Time `json:"used"`
	// Elsewhere says that only these have it, not the depot: it did not come by.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// replicas is the table of them, the one used last first. It is kept in the
// store as a whole: there are not many.
type replicas struct {
	mu   sync.Mutex
	list []replica
}

const (
	maxReplicas = 500
	// replicaMaxAge is how long what nobody asks for stays in the depot.
	replicaMaxAge = 7 * 24 * time.Hour
	// replicaSetting is the name under which the table is stored, usersSetting that
	// of the tables of all users but the broker's own.
	replicaSetting = "replicas"
	usersSetting   = "replicas of users"
)

// loadText reads the table; one that cannot be read is empty, which costs time only.
func (r *replicas) loadText(text string) {
	if text == "" || json.Unmarshal([]byte(text), &r.list) != nil {
		r.list = nil
	}
}

// contentOf is the content of a file that looks like this; "" if it is not known.
func (r *replicas) contentOf(site, path string, size, modTime int64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if x := &r.list[i]; x.Site == site && x.Path == path && x.Size == size && x.ModTime == modTime {
			return x.Tree
		}
	}
	return ""
}

// recentContent is the content, in the depot, of a file that was seen just now and looks
// as it did; "" if it has to be looked at again.
func (r *replicas) recentContent(site string, f *driver.File, now core.Time) string {
	const justNow = time.Minute
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if x := &r.list[i]; x.Site == site && x.Path == f.Path && x.Size == f.Size && x.ModTime == f.ModTime &&
			now.Sub(x.Used) < justNow && !x.Elsewhere {
			return x.Tree
		}
	}
	return ""
}

// lastContent is the content, in the depot, that a file had when it was last seen, if it
// was.
func (r *replicas) lastContent(site, path string) (replica, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if x := &r.list[i]; x.Site == site && x.Path == path && !x.Elsewhere {
			return *x, true
		}
	}
	return replica{}, false
}

// hasCopyAt says whether a cluster keeps a copy.
func (r *replicas) hasCopyAt(tree, cluster string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.list, func(x replica) bool { return x.Tree == tree && slices.Contains(x.At, cluster) })
}

// clustersWith are the clusters that keep a copy.
func (r *replicas) clustersWith(tree string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for i := range r.list {
		if x := &r.list[i]; x.Tree == tree && tree != "" {
			list = append(list, x.At...)
		}
	}
	return list
}

// onlyElsewhere says whether clusters have a content and the depot does not.
func (r *replicas) onlyElsewhere(tree string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	elsewhere := false
	for i := range r.list {
		if x := &r.list[i]; x.Tree == tree {
			if !x.Elsewhere {
				return false
			}
			elsewhere = true
		}
	}
	return elsewhere
}

// forgetCopy takes in that a cluster does not keep a copy any more.
func (r *replicas) forgetCopy(tree, cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if x := &r.list[i]; x.Tree == tree {
			x.At = slices.DeleteFunc(slices.Clone(x.At), func(c string) bool { return c == cluster })
		}
	}
}

// noteUse takes in that a content was used.
func (r *replicas) noteUse(x replica) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(y replica) bool {
		return x.Site == y.Site && x.Path == y.Path && x.Size == y.Size && x.ModTime == y.ModTime
	})
	if i >= 0 {
		if y := r.list[i]; y.Tree == x.Tree {
			x.Elsewhere = x.Elsewhere && y.Elsewhere
			for _, c := range y.At {
				if !slices.Contains(x.At, c) {
					x.At = append(x.At, c)
				}
			}
		}
		r.list = slices.Delete(r.list, i, i+1)
	}
	r.list = slices.Insert(r.list, 0, x)
	r.list = r.list[:min(len(r.list), maxReplicas)]
}

// dropUnused forgets what nobody has asked for in a long time.
func (r *replicas) dropUnused(now core.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(x replica) bool { return now.Sub(x.Used) > replicaMaxAge })
}

// depotTrees lists what is to stay in the depot.
func (r *replicas) depotTrees() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for i := range r.list {
		if !r.list[i].Elsewhere {
			list = append(list, r.list[i].Tree)
		}
	}
	return list
}

// keepReplicas makes the tables durable together with the turn.
func (t *turn) keepReplicas() {
	if t.batch.Settings == nil {
		t.batch.Settings = map[string]string{}
	}
	t.batch.Settings[replicaSetting] = t.b.replicas.toJSON()
	t.batch.Settings[waysSetting] = t.b.ways.toJSON()
	if t.b.opt.Users == nil {
		return
	}
	t.b.shelfLock.Lock()
	defer t.b.shelfLock.Unlock()
	texts := map[uint32]string{}
	for user, r := range t.b.shelves { // order-free: into a map
		texts[user] = r.toJSON()
	}
	if text, err := json.Marshal(texts); err == nil { // nothing but texts and numbers
		t.batch.Settings[usersSetting] = string(text)
	}
}

func (r *replicas) toJSON() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, _ := json.Marshal(r.list) // nothing but texts and numbers
	return string(text)
}

// loadReplicas reads the tables.
func (b *Broker) loadReplicas(ctx context.Context) error {
	own, err := b.opt.Store.GetSetting(ctx, replicaSetting)
	if err != nil {
		return err
	}
	b.replicas.loadText(own)
	closed, err := b.opt.Store.GetSetting(ctx, waysSetting)
	if err != nil {
		return err
	}
	b.ways.loadText(closed)
	others, err := b.opt.Store.GetSetting(ctx, usersSetting)
	texts := map[uint32]string{}
	if err != nil || others == "" || json.Unmarshal([]byte(others), &texts) != nil {
		return err // one that cannot be read is empty
	}
	for user, text := range texts { // order-free: into a map
		b.userReplicas(user).loadText(text)
	}
	return nil
}

// replicasOf is the table of who asks: nobody learns from it what others have.
func (b *Broker) replicasOf(ctx context.Context) *replicas {
	switch u, err := b.requestUser(ctx); {
	case err != nil:
		return new(replicas)
	case u.ID == 0:
		return &b.replicas
	default:
		return b.userReplicas(u.ID)
	}
}

// userReplicas is the table of a user who is not the broker's own.
func (b *Broker) userReplicas(user uint32) *replicas {
	b.shelfLock.Lock()
	defer b.shelfLock.Unlock()
	if b.shelves[user] == nil {
		b.shelves[user] = new(replicas)
	}
	return b.shelves[user]
}

// stagedRoots are the trees that jobs were, or are to be, given besides their
// work folders.
func (b *Broker) stagedRoots(ctx context.Context) ([]string, error) {
	b.replicas.dropUnused(b.brokerTime())
	roots := b.replicas.depotTrees()
	b.shelfLock.Lock()
	for _, r := range b.shelves { // order-free: a set
		r.dropUnused(b.brokerTime())
		roots = append(roots, r.depotTrees()...)
	}
	b.shelfLock.Unlock()
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
