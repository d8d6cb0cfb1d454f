// Package imports reads jobs in all the forms in which somebody may have written them:
// those of jobfile itself, and those for other systems. It brings the two together and
// knows nothing of any form.
package imports

import (
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/gridengine"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/psij"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/slurm"
)

// allImporters are those of the systems whose jobs are understood.
var allImporters = jobfile.Importers{Slurm: slurm.ReadLines, GridEngine: gridengine.ReadLines, PSIJ: psij.ReadSpec}

// Read reads the job in a file: YAML, a script, or a job description of PSI/J.
func Read(path string, o jobfile.Options) (*jobfile.Job, []jobfile.Warning, error) {
	return jobfile.Read(path, o, allImporters)
}
