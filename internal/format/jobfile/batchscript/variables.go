package batchscript

import "strings"

// IsManagerVariable says whether a variable describes the job that the caller is itself:
// another job must not take it for its own.
func IsManagerVariable(name string) bool {
	for _, prefix := range []string{"SLURM", "SBATCH_", "SALLOC_", "SRUN_", "SGE_", "PE_", "PMI_", "PMIX_", "PBS_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "JOB_ID", "JOB_NAME", "JOB_SCRIPT", "NSLOTS", "NHOSTS", "NQUEUES", "QUEUE", "PE", "REQUEST", "RESTARTED",
		"TMPDIR":
		return true
	}
	return false
}

// SplitExports splits a list at its commas; quotes within a value protect them.
func SplitExports(text string) []string {
	var list []string
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote == 0 && (c == '\'' || c == '"') && strings.IndexByte(text[i+1:], c) >= 0:
			quote = c
		case c == quote && quote != 0:
			quote = 0
		case c == ',' && quote == 0:
			list = append(list, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(list, b.String())
}
