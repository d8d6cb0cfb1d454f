package workpool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
)

// SubmitPool takes in a pool and returns its number, and how many items it has, once it is
// durable. One of a key that its owner submitted before is the same.
func (s *Service) SubmitPool(ctx context.Context, spec *api.PoolSubmit) (api.PoolSubmitted, error) {
	none := api.PoolSubmitted{}
	owner, err := s.Broker.RequestUser(ctx)
	if err != nil {
		return none, err
	}
	items := poolwork.SplitItems(spec.Items)
	if err := checkSpec(spec, items); err != nil {
		return none, err
	}
	if err := s.untilBegun(ctx); err != nil {
		return none, err
	}
	s.submitting.Lock()
	defer s.submitting.Unlock()
	before, err := s.Store.ListPools(ctx, store.FlowFilter{Owner: owner.ID, Key: spec.Key})
	if err != nil {
		return none, err
	}
	if len(before) > 0 {
		return api.PoolSubmitted{ID: before[0].ID, Items: before[0].Items}, nil
	}
	if err := s.checkLimits(ctx, owner, len(items)); err != nil {
		return none, err
	}
	if err := s.Broker.CheckNewFlow(ctx, spec.Work); err != nil {
		return none, err
	}
	id, err := s.begin(ctx, owner, spec, len(items))
	return api.PoolSubmitted{ID: id, Items: len(items)}, err
}

// begin takes in a pool that was not there before.
func (s *Service) begin(ctx context.Context, owner broker.User, spec *api.PoolSubmit, items int) (int64, error) {
	if s.next == 0 {
		newest, err := s.Store.ListPools(ctx, store.FlowFilter{AllOwners: true, Limit: 1})
		if err != nil {
			return 0, err
		}
		s.next = 1
		if len(newest) > 0 {
			s.next = newest[0].ID + 1
		}
	}
	prepareJob(&spec.Job)
	rec := store.Pool{ID: s.next, Owner: owner.ID, Key: spec.Key, User: owner.Name, Submitted: s.Broker.CurrentTime(),
		Name: spec.Job.Name, State: store.PoolRunning, Work: spec.Work, Items: items}
	var err error
	if rec.Spec, err = json.Marshal(spec); err != nil {
		return 0, err
	}
	l, err := s.newLivePool(ctx, &rec, nil)
	if err != nil {
		return 0, err
	}
	if err := s.Broker.CommitPools(ctx, []store.Pool{rec}, nil); err != nil {
		return 0, err
	}
	s.next++
	s.start(l)
	return rec.ID, nil
}

// prepareJob makes the job of a worker of what runs the user's command: it is not checkpointed,
// for what it holds is given to others when it is lost, and nothing of its folder comes back.
func prepareJob(job *jobfile.Job) {
	job.Checkpoint = jobfile.Checkpoint{Method: "restart", Every: jobfile.Never}
	job.Adapt = jobfile.AdaptOff
	job.Workdir, job.Outputs, job.Stdout, job.Stderr = "", []string{jobfile.NoOutputs}, "", ""
	job.Deadline, job.Estimate, job.Key, job.StartOn = 0, 0, "", ""
}

// checkLimits refuses more than one user may have going on.
func (s *Service) checkLimits(ctx context.Context, owner broker.User, items int) error {
	open, err := s.Store.ListPools(ctx, store.FlowFilter{Open: true, Owner: owner.ID})
	if err != nil {
		return err
	}
	all := items
	for i := range open {
		all += open[i].Items
	}
	switch {
	case len(open) >= s.MaxPools:
		return &badinput.Error{Field: "pools", Problem: fmt.Sprintf(
			"too many: %d of yours are not over, and a user may have %d (limits.pools in the broker's settings)",
			len(open), s.MaxPools)}
	case all > s.MaxItems:
		return &badinput.Error{Field: "items", Value: fmt.Sprint(items), Problem: fmt.Sprintf(
			"too many: with this one your pools have %d, and a user's may have %d (limits.items in the broker's settings)",
			all, s.MaxItems)}
	}
	return nil
}

// maxKey leaves room for the number of the worker in the keys of jobs.
const maxKey = 60

// checkSpec says what is wrong with a pool that was submitted.
func checkSpec(spec *api.PoolSubmit, items [][]byte) error {
	bad := func(field, value, want string) error { return &badinput.Error{Field: field, Value: value, Want: want} }
	switch {
	case spec.Key == "" || len(spec.Key) > maxKey || strings.ContainsAny(spec.Key, "/\x00\n"):
		return bad("key", spec.Key, fmt.Sprintf("1 to %d bytes without /", maxKey))
	case spec.Min < 1 || spec.Max < spec.Min || spec.Max > maxWorkers:
		return bad("workers", fmt.Sprintf("%d..%d", spec.Min, spec.Max), fmt.Sprintf("MIN..MAX, from 1 to %d", maxWorkers))
	case len(spec.Items) > poolwork.MaxText:
		return bad("items", fmt.Sprintf("%d bytes", len(spec.Items)), fmt.Sprintf("at most %d MiB of text in one pool",
			poolwork.MaxText>>20))
	case len(items) == 0:
		return bad("items", "", "at least one line that is not empty")
	case len(items) > poolwork.MaxItems:
		return bad("items", fmt.Sprint(len(items)), fmt.Sprintf("at most %d in one pool", poolwork.MaxItems))
	case spec.Job.Array.Len() > 0:
		return bad("array", "", "none: the items of a pool are its elements")
	}
	for i, item := range items {
		if len(item) > poolwork.MaxItem || bytes.IndexByte(item, 0) >= 0 {
			return bad("items", fmt.Sprintf("line %d, of %d bytes", i+1, len(item)),
				fmt.Sprintf("lines of at most %d KiB without NUL bytes", poolwork.MaxItem>>10))
		}
	}
	job := spec.Job
	prepareJob(&job)
	return job.CheckFields()
}
