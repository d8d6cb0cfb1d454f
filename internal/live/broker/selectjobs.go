package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobref"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// maxReferences is how many references a selection may have: each takes memory until it is answered.
const maxReferences = 10_000

// VisitSelected calls see with the jobs that references name, in their order and each once, among
// those that who asks may see. Of several jobs of one name it gives those that have
// not ended, and the newest if none is left or newest is set. The number of an
// array means all of its jobs. All references are looked up before the first job is seen, so
// that one that names nothing is an error and nothing else; jobs are then read a page at
// a time, so that very many need no memory for all of them. The view is see's only until it returns.
func (b *Broker) VisitSelected(ctx context.Context, refs []string, newest bool, see func(*View) error) error {
	s := &selection{b: b, newest: newest}
	count := 0
	for _, text := range refs {
		list, err := jobref.Parse(text)
		if err != nil {
			return err
		}
		if count += len(list); count > maxReferences {
			return &badinput.Error{Problem: fmt.Sprintf("more than %d jobs are named one by one (a range such as 1-20000 is "+
				"one name)", maxReferences)}
		}
		for i := range list {
			if err := s.addReference(ctx, &list[i]); err != nil {
				return err
			}
		}
	}
	seen := map[core.JobID]bool{}
	for i := range s.parts {
		err := s.visitPart(ctx, &s.parts[i], func(v *View) error {
			if seen[v.ID] {
				return nil
			}
			if len(s.parts) > 1 { // else each is visited once
				seen[v.ID] = true
			}
			return see(v)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// selection is the jobs that references name.
type selection struct {
	b      *Broker
	newest bool
	parts  []selectedPart
}

// selectedPart is jobs that belong to a selection, the oldest first.
type selectedPart struct {
	one   *View // only this job
	query viewQuery
	is    func(*View) bool // nil: all of them
}

func (s *selection) addPart(query viewQuery, is func(*View) bool) {
	s.parts = append(s.parts, selectedPart{query: query, is: is})
}

func (s *selection) addOne(v *View) { s.parts = append(s.parts, selectedPart{one: v}) }

// visitPart visits the jobs of a part. Who asks sees all elements of an array whose number they
// name, and else only their own jobs.
func (s *selection) visitPart(ctx context.Context, p *selectedPart, see func(*View) error) error {
	if p.one != nil {
		return see(p.one)
	}
	q, visit := p.query, s.b.visitOwn
	q.oldestFirst = true
	if q.parent != 0 {
		q.shown, visit = s.b.maySee, s.b.visitViews
	}
	return visit(ctx, &q, func(v *View) error {
		if p.is != nil && !p.is(v) {
			return nil
		}
		return see(v)
	})
}

// errSeenEnough ends a visit early.
var errSeenEnough = errors.New("enough jobs were seen")

// isEmpty tells whether there is no job in a part.
func (s *selection) isEmpty(ctx context.Context, p *selectedPart) (bool, error) {
	err := s.visitPart(ctx, p, func(*View) error { return errSeenEnough })
	if errors.Is(err, errSeenEnough) {
		return false, nil
	}
	return true, err
}

func (s *selection) addReference(ctx context.Context, r *jobref.Ref) error {
	switch r.Kind {
	case jobref.Number:
		return s.addNumbered(ctx, strconv.FormatInt(r.From, 10))
	case jobref.Range:
		return s.addRange(ctx, r)
	case jobref.Elements:
		return s.addElements(ctx, r)
	case jobref.All:
		s.addPart(viewQuery{}, func(v *View) bool { return !v.State.IsTerminal() })
		return nil
	case jobref.Last:
		return s.addLast(ctx)
	}
	return s.addNamed(ctx, r)
}

// addNumbered adds a job, or all jobs of the array whose number it is.
func (s *selection) addNumbered(ctx context.Context, ref string) error {
	_, v, err := s.b.findJob(ctx, ref)
	if err != nil {
		return err
	}
	if v.Parent != v.ID {
		s.addOne(v)
		return nil
	}
	s.addArray(v.ID)
	return nil
}

func (s *selection) addArray(id core.JobID) { s.addPart(viewQuery{all: true, parent: id}, nil) }

// addElements adds jobs of an array; all that are named must be there.
func (s *selection) addElements(ctx context.Context, r *jobref.Ref) error {
	part := selectedPart{query: viewQuery{all: true, parent: core.JobID(r.Array)}}
	missing := map[int]bool{}
	for _, index := range r.Indices {
		missing[index] = true
	}
	empty := true
	err := s.visitPart(ctx, &part, func(v *View) error {
		if empty = false; len(missing) > 0 {
			delete(missing, v.Index)
		}
		if len(missing) == 0 {
			return errSeenEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errSeenEnough) {
		return err
	}
	if empty {
		return &badinput.Error{Problem: fmt.Sprintf("no such array: %d (godwit ps --all lists all jobs)", r.Array)}
	}
	named := map[int]bool{}
	for _, index := range r.Indices {
		if missing[index] {
			return &badinput.Error{Problem: fmt.Sprintf("no such job: %d_%d (array %d has no index %d)", r.Array, index, r.Array,
				index)}
		}
		named[index] = true
	}
	if r.Indices != nil {
		part.is = func(v *View) bool { return named[v.Index] }
	}
	s.parts = append(s.parts, part)
	return nil
}

// addRange adds the jobs with these numbers; there must be one.
func (s *selection) addRange(ctx context.Context, r *jobref.Ref) error {
	part := selectedPart{query: viewQuery{all: true, from: core.JobID(r.From), to: core.JobID(r.To)}}
	empty, err := s.isEmpty(ctx, &part)
	if err != nil {
		return err
	}
	if empty {
		return noSuchJob(r.Text)
	}
	s.parts = append(s.parts, part)
	return nil
}

// addLast adds what was submitted last: a job, or an array.
func (s *selection) addLast(ctx context.Context) error {
	var last *View
	err := s.b.VisitJobs(ctx, false, func(v *View) error {
		view := *v
		last = &view
		return errSeenEnough
	})
	if last == nil {
		return cmp.Or(err, error(&badinput.Error{Problem: "no such job: last (there are no jobs)"}))
	}
	s.addWithArray(last)
	return nil
}

// addWithArray adds a job, with all others of its array.
func (s *selection) addWithArray(v *View) {
	if v.Parent == 0 {
		s.addOne(v)
		return
	}
	s.addArray(v.Parent)
}

// addNamed adds the jobs of a name; what is no name may be a unique id.
func (s *selection) addNamed(ctx context.Context, r *jobref.Ref) error {
	isNamed := func(v *View) bool { spec := v.CurrentSpec(); return spec != nil && spec.Name == r.Text }
	named := selectedPart{query: viewQuery{all: true}, is: isNamed}
	var newest *View
	live := false
	err := s.visitPart(ctx, &named, func(v *View) error {
		view := *v
		newest, live = &view, live || !v.State.IsTerminal()
		return nil
	})
	if err != nil {
		return err
	}
	if newest == nil {
		return s.addNumbered(ctx, r.Text)
	}
	if s.newest || !live {
		s.addWithArray(newest)
		return nil
	}
	s.addPart(viewQuery{all: true}, func(v *View) bool { return isNamed(v) && !v.State.IsTerminal() })
	return nil
}
