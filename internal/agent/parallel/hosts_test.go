package parallel

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestHostsAreThoseThatTheManagerNames(t *testing.T) {
	got := allocatedHosts(func(name string) string { return map[string]string{"SLURM_JOB_NODELIST": "n[08-09],login"}[name] })
	if !slices.Equal(got, []string{"n08", "n09", "login"}) {
		t.Errorf("of Slurm: %v", got)
	}
	file := filepath.Join(t.TempDir(), "pe")
	if err := os.WriteFile(file, []byte("s1 2 all.q@s1 UNDEFINED\ns2 1 all.q@s2 UNDEFINED\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got = allocatedHosts(func(name string) string { return map[string]string{"PE_HOSTFILE": file}[name] })
	if !slices.Equal(got, []string{"s1", "s2"}) {
		t.Errorf("of Grid Engine: %v", got)
	}
	here, _ := os.Hostname()
	if got := allocatedHosts(func(string) string { return "" }); !slices.Equal(got, []string{here}) {
		t.Errorf("without a manager: %v", got)
	}
}
