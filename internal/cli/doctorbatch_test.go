package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/live/config"
)

func TestDoctorFindsBatchSystemsAndSaysWhatWouldInstallThem(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for name, say := range map[string]string{
		"sbatch": "echo slurm-wlm 22.05.8", "squeue": "", "scancel": "", "sinfo": "",
		"qsub": "echo error: SGE_ROOT is not set >&2; exit 1", "qstat": "", "qdel": "", "qhost": "",
		"ssh": "echo OpenSSH_9.2p1 Debian-2, OpenSSL 3.0 >&2",
	} {
		// it is executed
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+say+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	campus := []config.Cluster{{Name: "york", Driver: config.GridEngine},
		{Name: "leeds", Driver: config.Slurm, SSH: "leeds"}}
	for i, c := range []struct {
		clusters    []config.Cluster
		ok          bool
		detail, fix string
	}{
		{nil, true, "22.05.8 ", ""},
		{campus, false, "not configured on this machine (SGE_ROOT is not set), and the settings have york", "SGE_ROOT"},
		{campus, true, "9.2p1 ", ""},
		{nil, false, "mpirun not found", "apt-get install openmpi-bin"},
	} {
		tool := tools[i]
		tool.places = nil
		f := tool.findVersion(t.Context(), c.clusters)
		if f.OK != c.ok || !strings.Contains(f.Detail, c.detail) || !strings.Contains(f.Fix, c.fix) || f.Needed {
			t.Errorf("%+v", f)
		}
	}
	unused := tools[1] // there, not configured, and nobody needs it: no reason to say that it works
	unused.places = nil
	if f := unused.findVersion(t.Context(), nil); f.OK || f.Needed ||
		!strings.Contains(f.Detail, "is there, but not configured") {
		t.Errorf("%+v", f)
	}
	t.Setenv("PATH", t.TempDir())
	if f := tools[0].findVersion(t.Context(), []config.Cluster{{Name: "barkla", Driver: config.Slurm}}); f.OK ||
		!strings.Contains(f.Detail, "the settings have barkla") ||
		!strings.Contains(f.Fix, "apt-get install slurm-client") || !strings.Contains(f.Fix, "commands:") {
		t.Errorf("%+v", f)
	}
	t.Setenv("PATH", "")
	if f := tools[0].findVersion(t.Context(),
		[]config.Cluster{{Name: "barkla", Driver: config.Slurm, Commands: dir}}); !f.OK {
		t.Errorf("%+v", f)
	}
}
