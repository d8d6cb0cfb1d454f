package agent

import (
	"github.com/godwit-hpc/godwit/internal/agent/report"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

// openReport makes the folder by which the program can report how far it is. A job runs without it too.
func (l *life) openReport() {
	f, err := report.MakeFolder(l.around.memory, l.folder.dir, l.attempt.Mark)
	if err != nil {
		l.around.log.Warn("the program cannot report its progress", "error", err)
		return
	}
	l.report = f
	l.hears, err = f.Listen(l.around.clock, func(m selfreport.Message) {
		l.callOwner(l.work, func() { l.noteMessage(m) })
	})
	if err != nil {
		l.around.log.Warn("the program cannot send messages", "error", err)
	}
}

// noteMessage has explain show what the program says.
func (l *life) noteMessage(m selfreport.Message) {
	if m.Kind == selfreport.MessageText {
		l.sendNote("message", m.Text, "", nil)
		return
	}
	var inputs map[string]any
	if r, ok := l.report.ReadReport(); ok {
		inputs = map[string]any{"step": r.Done, "of": r.All}
	}
	l.sendNote("phase", m.Name, "", inputs)
}

// closeReport removes the folder, unless a next agent has to tell how the attempt ended.
func (l *life) closeReport() {
	l.hears.Close()
	if l.quit != nil && l.phase != concluded {
		l.report.Close()
		return
	}
	l.report.Remove()
}
