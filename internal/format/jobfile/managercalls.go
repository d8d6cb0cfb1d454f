package jobfile

import (
	"fmt"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
)

// managerCalls says where a script calls srun and module, which are not there on every
// cluster. One that it defines itself, or looks for before, is its own business.
func (d *Draft) managerCalls(name string, data []byte) {
	calls := batchscript.FindCalls(name, data, "srun", "module")
	if n := calls["srun"]; n > 0 {
		d.Manager.Srun = fmt.Sprintf("%s:%d", filepath.Base(name), n)
		d.Warnings = append(d.Warnings,
			Warning{name, n, "srun", "works in Slurm jobs only: the job runs on Slurm clusters, unless --on names others"})
	}
	if n := calls["module"]; n > 0 {
		d.Warnings = append(d.Warnings,
			Warning{name, n, "module", "needs environment modules on the cluster where the job runs; --on names clusters that " +
				"have them"})
	}
}
