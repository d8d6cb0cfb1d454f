package agent

import (
	"context"

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
	p.tell(func(l *life) {
		l.outbox.QueueMessage(wire.Message{Kind: wire.Ready, Hosts: parallel.HostsOf(l.attempt)})
	})
	select {
	case p.contacts = <-p.begin:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// onBegin: all parts are ready. The order may come again.
func (l *life) onBegin(all []wire.Contact) {
	if l.contacts == nil && len(all) > 0 {
		l.contacts = all
		l.begin <- all // there is room for one
	}
}
