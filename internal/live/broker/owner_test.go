package broker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
)

// nothing is what a broker has for users who have nothing.
type nothing struct{}

func (nothing) UserDepot(uint32) (*depot.Store, error)   { return nil, errors.ErrUnsupported }
func (nothing) UsersWithDepot() ([]uint32, error)        { return nil, nil }
func (nothing) FilesOf(uint32) (broker.UserFiles, error) { return nil, errors.ErrUnsupported }

// A broker of one user that took up the jobs of others would run them as itself.
func TestABrokerOfOneUserDoesNotTakeUpJobsOfOthers(t *testing.T) {
	g := newGrid(t)
	g.kill()
	o := g.options()
	o.Users = nothing{}
	b, err := broker.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	ids, err := b.SubmitJob(broker.WithUser(ctx, broker.User{ID: 20001, Name: "alice"}), complete(jobfile.Job{}), "")
	if err != nil || len(ids) != 1 {
		t.Fatalf("%v, %v", ids, err)
	}
	if _, err := b.SubmitJob(ctx, complete(jobfile.Job{}), ""); err == nil {
		t.Error("a job is nobody's")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, err := broker.Open(t.Context(), g.options()); !badinput.Is(err) {
		t.Errorf("alice's job is taken up: %v", err)
	}
	if _, err := broker.Open(t.Context(), o); err != nil {
		t.Errorf("by a broker of several users it is not: %v", err)
	}
}
