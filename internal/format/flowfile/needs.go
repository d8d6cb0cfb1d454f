package flowfile

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/dag"
)

func (r *reader) templateOf(t int) *template { return &r.list[r.flow.Tasks[t].Kind] }

// findNeeds finds who waits for whom.
func (r *reader) findNeeds() {
	makers := r.findMakers()
	if r.err != nil {
		return
	}
	names := make([]string, 0, len(makers))
	for name := range makers {
		names = append(names, name)
	}
	slices.Sort(names)
	for t := range r.flow.Tasks {
		r.resolveInputs(t, makers, names)
		r.addDependencies(t)
		if r.err != nil {
			return
		}
	}
	r.flow.Needs = dag.JoinNeeds(r.flow.Needs)
}

type madeFile struct {
	by    int
	bytes int64
}

// findMakers are the tasks that make each file.
func (r *reader) findMakers() map[string]madeFile {
	makers := map[string]madeFile{}
	for t := range r.flow.Tasks {
		task := &r.flow.Tasks[t]
		for _, o := range task.Outputs {
			if other, twice := makers[o.Name]; twice {
				who := "it names it twice"
				if other.by != t {
					who = "task " + strconv.Quote(badinput.ClipID(r.flow.Tasks[other.by].ID)) + " makes it too"
				}
				r.taskError(r.templateOf(t), task.ID, "outputs", o.Name, "a file that no other task makes; "+who)
				return nil
			}
			makers[o.Name] = madeFile{t, o.Bytes}
		}
	}
	return makers
}

// resolveInputs finds the makers of what a task reads. A pattern means all files that match
// and that a task makes, or that are there; it is written out.
func (r *reader) resolveInputs(t int, makers map[string]madeFile, names []string) {
	task := &r.flow.Tasks[t]
	var inputs []string
	for _, in := range task.Inputs {
		for _, one := range expandRange(in) {
			if !strings.ContainsAny(one, "*?[") {
				inputs = append(inputs, one)
				continue
			}
			found := matchNames(one, names)
			if len(found) == 0 {
				found = r.matchingFiles(one)
			}
			if len(found) == 0 {
				r.taskError(r.templateOf(t), task.ID, "inputs", in, "files that a task makes, or that are in "+r.flow.Dir+
					"; none matches")
				return
			}
			inputs = append(inputs, found...)
		}
	}
	slices.Sort(inputs)
	task.Inputs = slices.Compact(inputs)
	for _, in := range task.Inputs {
		m, ok := makers[in]
		if ok && m.by == t {
			r.taskError(r.templateOf(t), task.ID, "inputs", in,
				"a file of another task, or one that is there; it makes this one itself")
			return
		}
		if ok {
			r.addNeed(Need{From: m.by, To: t, Bytes: m.bytes, Files: 1})
		}
	}
}

func matchNames(pattern string, names []string) []string {
	var found []string
	for _, n := range names {
		if ok, _ := path.Match(pattern, n); ok {
			found = append(found, n)
		}
	}
	return found
}

// matchingFiles are the files of the flow's folder that match a pattern.
func (r *reader) matchingFiles(pattern string) []string {
	files, _ := filepath.Glob(filepath.Join(escapePattern(r.flow.Dir), pattern))
	var found []string
	for _, f := range files {
		if rel, err := filepath.Rel(r.flow.Dir, f); err == nil {
			found = append(found, filepath.ToSlash(rel))
		}
	}
	return found
}

// escapePattern keeps the name of a folder from being a pattern.
func escapePattern(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func (r *reader) addNeed(n Need) {
	if len(r.flow.Needs) >= maxNeeds {
		r.taskError(r.templateOf(n.To), r.flow.Tasks[n.To].ID, "inputs", "",
			"fewer files between tasks; there are more than "+strconv.Itoa(maxNeeds))
		return
	}
	r.flow.Needs = append(r.flow.Needs, n)
}

func (r *reader) addDependencies(t int) {
	for _, id := range r.templateOf(t).after {
		others, ok := r.kinds[id]
		if one, exact := r.index[id]; !ok && exact {
			others, ok = []int{one}, true
		}
		if !ok {
			r.taskError(r.templateOf(t), r.flow.Tasks[t].ID, "after", id, "the id of a task")
			return
		}
		for _, other := range others {
			if r.flow.Tasks[other].Kind == r.flow.Tasks[t].Kind {
				r.taskError(r.templateOf(t), r.flow.Tasks[t].ID, "after", id, "another task; none can wait for itself")
				return
			}
			r.addNeed(Need{From: other, To: t, Bytes: dag.NoFile})
		}
	}
}

// checkFilesExist looks for the files that no task makes.
func (r *reader) checkFilesExist() {
	made := r.findMakers()
	seen := map[string]bool{}
	for t := range r.flow.Tasks {
		for _, in := range r.flow.Tasks[t].Inputs {
			if _, ok := made[in]; ok || seen[in] {
				continue
			}
			seen[in] = true
			if _, err := os.Stat(filepath.Join(r.flow.Dir, in)); err != nil {
				r.taskError(r.templateOf(t), r.flow.Tasks[t].ID, "inputs", in, "a file that a task makes, or that is in "+
					r.flow.Dir+"; there is none")
				return
			}
		}
	}
}

// checkAcyclic refuses tasks that wait for each other.
func (r *reader) checkAcyclic() {
	round := dag.FindCycle(len(r.flow.Tasks), func(yield func(int, int) bool) {
		for _, n := range r.flow.Needs {
			if !yield(n.From, n.To) {
				return
			}
		}
	})
	if round == nil {
		return
	}
	value, want := dag.DescribeCycle(round, func(t int) string { return badinput.ClipID(r.flow.Tasks[t].ID) })
	at := round[len(round)-1]
	r.taskError(r.templateOf(at), r.flow.Tasks[at].ID, "inputs", value, want)
}
