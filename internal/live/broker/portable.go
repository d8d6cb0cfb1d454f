package broker

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// portableSaved is what an attempt may continue from, newest first. A checkpoint holds
// the files of a job as the cluster that made it says they are: where it is continued
// at another cluster it decides what runs there. What nobody ordered is therefore
// continued elsewhere only if the programs of the job are those that its user
// submitted, and what a cluster without trust made, nowhere else at all.
func (b *Broker) portableSaved(ctx context.Context, j *job, a *wire.Attempt) []wire.Saved {
	var list []wire.Saved
	var submitted *depot.Tree
	for i := range a.Saved {
		s := &a.Saved[i]
		why := ""
		switch at := b.clusterNamed(s.Cluster); {
		case b.isSameSite(s.Cluster, a.Cluster):
		case at != nil && at.Untrusted:
			why = s.Cluster + " is a cluster with `trusted: false`"
		case s.Ordered || at != nil && at.Kind == localKind || a.Work == "" || b.opt.Depot == nil:
		default:
			if submitted == nil {
				submitted = b.treeOrEmpty(ctx, a.Work)
			}
			if file := changedProgram(submitted, b.treeOrEmpty(ctx, s.Work), &a.Spec); file != "" {
				why = fmt.Sprintf("nobody ordered it, and %s is not what was submitted", file)
			}
		}
		if why == "" {
			list = append(list, *s)
			continue
		}
		n, from, to := s.N, s.Cluster, a.Cluster
		b.postToLoop(func(t *turn) {
			t.explainJob(j, "checkpoint", fmt.Sprintf("checkpoint %d is not used on %s", n, to),
				fmt.Sprintf("it was made on %s: %s", from, why), nil)
		})
	}
	return list
}

// isSameSite says whether two clusters are the same, or parts of this machine.
func (b *Broker) isSameSite(one, other string) bool {
	c, d := b.clusterNamed(one), b.clusterNamed(other)
	return one == other || c != nil && d != nil && c.Kind == localKind && d.Kind == localKind
}

// treeOrEmpty is a tree of the depot; an empty one if it is not there, which holds no
// program as it was submitted.
func (b *Broker) treeOrEmpty(ctx context.Context, id string) *depot.Tree {
	chunks, err := b.depotFor(ctx)
	if err != nil || id == "" {
		return &depot.Tree{}
	}
	tree, err := depot.LoadTree(ctx, chunks, depot.ID(id))
	if err != nil {
		return &depot.Tree{}
	}
	return tree
}

// changedProgram is a program of the submitted folder that is another, or gone, in what
// was saved; "": there is none.
func changedProgram(submitted, saved *depot.Tree, spec *jobfile.Job) string {
	now := saved.IndexEntries()
	for i := range submitted.Entries {
		e := &submitted.Entries[i]
		if isProgram(e, spec) && (now[e.Path] == nil || !e.IsSameFile(now[e.Path])) {
			return e.Path
		}
	}
	return ""
}

// isProgram says whether a file of the work folder is probably run: it is executable, is
// called as programs and their modules are, or begins the job's command.
func isProgram(e *depot.Entry, spec *jobfile.Job) bool {
	if e.Mode.IsDir() {
		return false
	}
	if e.Mode.IsRegular() && e.Mode&0o111 != 0 || slices.Contains(programSuffixes(), path.Ext(e.Path)) {
		return true
	}
	for _, argv := range [][]string{spec.Argv, spec.Checkpoint.Restart} {
		for _, word := range argv[:min(2, len(argv))] { // the program, or its interpreter and the program
			if strings.TrimPrefix(path.Clean(word), "./") == e.Path {
				return true
			}
		}
	}
	return false
}

// programSuffixes are those of files that are run without being executable.
func programSuffixes() []string {
	return []string{".py", ".sh", ".pl", ".rb", ".lua", ".jl", ".R", ".js", ".so", ".jar", ".class", ".pyc"}
}
