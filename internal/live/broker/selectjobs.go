package broker

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobref"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// SelectJobs finds the jobs that references name, in their order and each once, among
// those that who asks may see. Of several jobs of one name it gives those that have
// not ended, and the newest if none is left or newest is set. The number of an
// array means all of its jobs.
func (b *Broker) SelectJobs(ctx context.Context, refs []string, newest bool) ([]View, error) {
	s := &selection{b: b, newest: newest, seen: map[core.JobID]bool{}}
	for _, text := range refs {
		list, err := jobref.Parse(text)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if err := s.addReference(ctx, &list[i]); err != nil {
				return nil, err
			}
		}
	}
	return s.jobs, nil
}

type selection struct {
	b      *Broker
	newest bool
	jobs   []View
	seen   map[core.JobID]bool
}

// takeViews adds jobs, the oldest first.
func (s *selection) takeViews(list []View) {
	slices.SortFunc(list, func(a, b View) int { return int(a.ID - b.ID) })
	for i := range list {
		if !s.seen[list[i].ID] {
			s.seen[list[i].ID] = true
			s.jobs = append(s.jobs, list[i])
		}
	}
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
		list, err := s.listMatching(ctx, &viewQuery{}, func(v *View) bool { return !v.State.IsTerminal() })
		s.takeViews(list)
		return err
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
		s.takeViews([]View{*v})
		return nil
	}
	list, err := s.b.arrayViews(ctx, v.ID)
	s.takeViews(list)
	return err
}

// arrayViews lists the jobs of an array that who asks may see.
func (b *Broker) arrayViews(ctx context.Context, id core.JobID) (list []View, err error) {
	err = b.visitViews(ctx, &viewQuery{all: true, parent: id, shown: b.maySee}, func(v *View) error {
		list = append(list, *v)
		return nil
	})
	return list, err
}

func (s *selection) addElements(ctx context.Context, r *jobref.Ref) error {
	array, err := s.b.arrayViews(ctx, core.JobID(r.Array))
	if err != nil {
		return err
	}
	if len(array) == 0 {
		return &badinput.Error{Problem: fmt.Sprintf("no such array: %d (godwit ps --all lists all jobs)", r.Array)}
	}
	byIndex := map[int]View{}
	for i := range array {
		byIndex[array[i].Index] = array[i]
	}
	if r.Indices == nil {
		s.takeViews(array)
		return nil
	}
	var list []View
	for _, index := range r.Indices {
		v, ok := byIndex[index]
		if !ok {
			return &badinput.Error{Problem: fmt.Sprintf("no such job: %d_%d (array %d has no index %d)", r.Array, index, r.Array,
				index)}
		}
		list = append(list, v)
	}
	s.takeViews(list)
	return nil
}

// listMatching lists the own jobs for which is holds, newest first, each element of an array by
// itself.
func (s *selection) listMatching(ctx context.Context, q *viewQuery, is func(*View) bool) (list []View, err error) {
	err = s.b.visitOwn(ctx, q, func(v *View) error {
		if is(v) {
			list = append(list, *v)
		}
		return nil
	})
	return list, err
}

// addRange adds the jobs with these numbers; there must be one.
func (s *selection) addRange(ctx context.Context, r *jobref.Ref) error {
	q := &viewQuery{all: true, from: core.JobID(r.From), to: core.JobID(r.To)}
	list, err := s.listMatching(ctx, q, func(*View) bool { return true })
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return noSuchJob(r.Text)
	}
	s.takeViews(list)
	return nil
}

// addLast adds what was submitted last: a job, or an array.
func (s *selection) addLast(ctx context.Context) error {
	list, err := s.b.ListJobs(ctx, false)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return &badinput.Error{Problem: "no such job: last (there are no jobs)"}
	}
	return s.addWithArray(ctx, &list[0])
}

// addWithArray adds a job, with all others of its array.
func (s *selection) addWithArray(ctx context.Context, v *View) error {
	if v.Parent == 0 {
		s.takeViews([]View{*v})
		return nil
	}
	list, err := s.b.arrayViews(ctx, v.Parent)
	s.takeViews(list)
	return err
}

// addNamed adds the jobs of a name; what is no name may be a unique id.
func (s *selection) addNamed(ctx context.Context, r *jobref.Ref) error {
	isNamed := func(v *View) bool { return v.Spec != nil && v.Spec.Name == r.Text }
	list, err := s.listMatching(ctx, &viewQuery{all: true}, isNamed)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return s.addNumbered(ctx, r.Text)
	}
	newest := list[0]
	live := slices.DeleteFunc(list, func(v View) bool { return v.State.IsTerminal() })
	if s.newest || len(live) == 0 {
		return s.addWithArray(ctx, &newest)
	}
	s.takeViews(live)
	return nil
}
