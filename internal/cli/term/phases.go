package term

import (
	"strings"

	"github.com/godwit-hpc/godwit/internal/report/progress"
)

// PhaseProgress is a progress line for each part of the work.
func (a *App) PhaseProgress() (tell func(what string, done, total int), end func()) {
	var line *progress.Line
	last := ""
	return func(what string, done, total int) {
			if phase, _, _ := strings.Cut(what, " "); phase != last {
				line.ClearLine()
				line, last = progress.New(a.Stderr, a.Now, what, "steps", int64(total)), phase
			}
			line.Update(int64(done))
		}, func() {
			line.ClearLine()
		}
}
