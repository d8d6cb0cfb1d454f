package agent

import (
	"github.com/godwit-hpc/godwit/internal/agent/report"
)

// openReport makes the folder by which the program can report how far it is. A job runs without it too.
func (l *life) openReport() {
	f, err := report.MakeFolder(l.around.memory, l.folder.dir, l.attempt.Mark)
	if err != nil {
		l.around.log.Warn("the program cannot report its progress", "error", err)
		return
	}
	l.report = f
}

// closeReport removes the folder, unless a next agent has to tell how the attempt ended.
func (l *life) closeReport() {
	if l.quit != nil && l.phase != concluded {
		l.report.Close()
		return
	}
	l.report.Remove()
}
