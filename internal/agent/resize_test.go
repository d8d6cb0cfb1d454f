package agent

import "testing"

// Processors that a manager holds for a job are of use only where it lets the job run on them.
func TestAJobIsConfinedByItsBatchSystem(t *testing.T) {
	for name, c := range map[string]struct {
		below string
		cpus  int
		want  bool
	}{
		"below Slurm, on one CPU of several":   {"SLURM_JOB_ID", 0, true},
		"below Grid Engine, on one of several": {"SGE_ROOT", 0, true},
		"below Slurm, on all of them":          {"SLURM_JOB_ID", 1 << 20, false},
		"below nothing":                        {"", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := isConfined(func(name string) string {
				if name == c.below {
					return "7"
				}
				return ""
			}, c.cpus)
			if got != c.want {
				t.Errorf("it is %v, want %v", got, c.want)
			}
		})
	}
}
