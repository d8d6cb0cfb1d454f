package replica

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Record is what is known of the content of a file at a site: its tree, and who
// keeps a copy: the depot, and clusters.
type Record struct {
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

// Table has the records, the one used last first. It is kept in the
// store as a whole: there are not many.
type Table struct {
	mu   sync.Mutex
	list []Record
}

const (
	maxRecords = 500
	// maxAge is how long what nobody asks for stays in the depot.
	maxAge = 7 * 24 * time.Hour
)

// LoadJSON reads the table; one that cannot be read is empty, which costs time only.
func (r *Table) LoadJSON(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text == "" || json.Unmarshal([]byte(text), &r.list) != nil {
		r.list = nil
	}
}

// ContentOf is the content of a file that looks like this; "" if it is not known.
func (r *Table) ContentOf(site, path string, size, modTime int64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if x := &r.list[i]; x.Site == site && x.Path == path && x.Size == size && x.ModTime == modTime {
			return x.Tree
		}
	}
	return ""
}

// RecentContent is the content, in the depot, of a file that was seen just now and looks
// as it did; "" if it has to be looked at again.
func (r *Table) RecentContent(site string, f *driver.File, now core.Time) string {
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

// LastContent is the content, in the depot, that a file had when it was last seen, if it
// was.
func (r *Table) LastContent(site, path string) (Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if x := &r.list[i]; x.Site == site && x.Path == path && !x.Elsewhere {
			return *x, true
		}
	}
	return Record{}, false
}

// HasCopyAt says whether a cluster keeps a copy.
func (r *Table) HasCopyAt(tree, cluster string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.list, func(x Record) bool { return x.Tree == tree && slices.Contains(x.At, cluster) })
}

// ClustersWith are the clusters that keep a copy.
func (r *Table) ClustersWith(tree string) []string {
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

// OnlyElsewhere says whether clusters have a content and the depot does not.
func (r *Table) OnlyElsewhere(tree string) bool {
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

// ForgetCopy takes in that a cluster does not keep a copy any more.
func (r *Table) ForgetCopy(tree, cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if x := &r.list[i]; x.Tree == tree {
			x.At = slices.DeleteFunc(slices.Clone(x.At), func(c string) bool { return c == cluster })
		}
	}
}

// NoteUse takes in that a content was used.
func (r *Table) NoteUse(x Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(y Record) bool {
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
	r.list = r.list[:min(len(r.list), maxRecords)]
}

// KeepRecent forgets what nobody has asked for in a long time, and lists what is to stay
// in the depot.
func (r *Table) KeepRecent(now core.Time) []string {
	r.dropUnused(now)
	return r.DepotTrees()
}

func (r *Table) dropUnused(now core.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(x Record) bool { return now.Sub(x.Used) > maxAge })
}

// DepotTrees lists what is to stay in the depot.
func (r *Table) DepotTrees() []string {
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

// EncodeJSON is the table as LoadJSON reads it.
func (r *Table) EncodeJSON() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, _ := json.Marshal(r.list) // nothing but texts and numbers
	return string(text)
}
