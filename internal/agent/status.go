package agent

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// onWatch begins to send what somebody watches, or ends it.
func (l *life) onWatch(every time.Duration) {
	if l.status != nil {
		l.status.Stop()
		l.status = nil
	}
	if every > 0 {
		l.status = time.NewTicker(max(every, 20*time.Millisecond))
		l.sendStatus()
	}
}

// sendStatus makes a status for who watches. It is not numbered: if the connection is
// busy the next one will do.
func (l *life) sendStatus() {
	if l.watch == nil || l.busy || l.session == nil || l.phase != running {
		return
	}
	v := l.currentVitals()
	m := wire.Message{Kind: wire.Status, State: &v}
	if frame, err := wire.AppendFrame(nil, m); err == nil {
		l.stated = frame
	}
}
