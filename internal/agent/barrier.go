package agent

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/godwit-hpc/godwit/internal/agent/parallel"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// awaitOthers waits, if the attempt is one of several parts, until the agents of all of them are
// ready: nothing that the job says is run before. Until then the agent holds the part's processors
// and no more.
func (p *preparation) awaitOthers(ctx context.Context) error {
	if p.attempt.Parts < 2 || p.contacts != nil {
		return nil
	}
	ready := wire.Message{Kind: wire.Ready, Hosts: parallel.HostsOf(p.attempt)}
	if parallel.IsJoint(p.attempt) {
		if err := p.openMeeting(ctx); err != nil {
			return lostOutcome("listening for the other parts: %v", err)
		}
		ready.Slots, ready.Meet = parallel.HostSlots(p.attempt), p.meeting.Where()
	}
	p.tell(func(l *life) { l.outbox.QueueMessage(ready) })
	select {
	case p.contacts = <-p.begin:
		if !parallel.IsJoint(p.attempt) {
			return nil
		}
		return p.meetOthers(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// openMeeting lets the other parts in as long as the attempt lives.
func (p *preparation) openMeeting(ctx context.Context) (err error) {
	if p.meeting, err = parallel.OpenMeeting(ctx, p.attempt); err != nil {
		return err
	}
	m := p.meeting
	open := false
	p.tell(func(l *life) {
		open = true
		l.group.Go(func() { <-l.work.Done(); _ = m.Close() })
	})
	if !open { // the attempt was ended just now
		return errors.Join(m.Close(), context.Cause(p.life))
	}
	return nil
}

// meetOthers tries, before anything is run, whether the parts of one program reach each other, and joins them.
func (p *preparation) meetOthers(ctx context.Context) error {
	err := parallel.ReachParts(ctx, p.attempt.Part, p.contacts)
	if apart := new(parallel.UnreachableError); errors.As(err, &apart) && ctx.Err() == nil {
		return &outcome{wire.Message{Kind: wire.Lost, Cause: wire.Unreachable, Peer: apart.Part, Why: err.Error()}}
	}
	if err == nil {
		err = p.joinParts()
	}
	return err
}

// onBegin: all parts are ready. The order may come again.
func (l *life) onBegin(all []wire.Contact) {
	if l.contacts == nil && len(all) > 0 {
		l.contacts = all
		l.begin <- all // there is room for one
	}
}

// jointProgram is what a part of one program runs instead of the job's command, and around it.
type jointProgram struct {
	words     []string // before the command, or if alone is set instead of it; none: the command as it is
	alone     bool
	variables map[string]string
}

func (j *jointProgram) command(argv []string) []string {
	switch {
	case len(j.words) == 0:
		return argv
	case j.alone:
		return j.words
	}
	return slices.Concat(j.words, argv)
}

// joinParts has the program be a part of one: in part 0 it is started below a command of ours that the others follow,
// and they run what its mpirun starts there.
func (p *preparation) joinParts() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if p.attempt.Part > 0 {
		p.joint = jointProgram{words: []string{self, parallel.ServeCommand, p.meeting.Socket()}, alone: true,
			variables: map[string]string{parallel.LostVariable: p.folder.lostHost()}}
		return nil
	}
	p.joint.words = []string{self, parallel.LeadCommand}
	p.joint.variables, err = parallel.JointVariables(p.attempt, p.contacts, parallel.JointFiles{
		Hosts: p.folder.filePath("hosts-of-all"), Peers: p.folder.filePath("peers.json"), Lost: p.folder.lostHost()})
	return err
}
