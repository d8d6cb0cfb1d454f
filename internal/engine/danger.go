package engine

import (
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/world"
)

// inDanger: the deadline of a running job is in danger where it runs.
func (e *Engine) inDanger(j *world.Job, o *core.Outlook) {
}
