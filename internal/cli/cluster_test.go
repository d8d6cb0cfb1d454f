package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func TestTheFirstSettingsAreSound(t *testing.T) {
	ssh := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(ssh, []byte("Host leeds york.example\n  User alice\nHost *\nhost = hull\nHost !x "+
		"-oProxyCommand=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := sshHosts(ssh); !slices.Equal(got, []string{"leeds", "york.example", "hull"}) {
		t.Errorf("the hosts are %q", got)
	}
	text := firstSettings(context.Background(), 2, 8<<30, ssh)
	cfg, err := config.ReadSettings("c.yaml", text, []int{0, 1})
	if err != nil || cfg.Clusters[0].Name != "local" || cfg.Clusters[0].Slots != 2 {
		t.Fatalf("%+v, %v in\n%s", cfg, err, text)
	}
	chosen := strings.NewReplacer("  # - name: leeds", "  - name: leeds", "  #   ssh: leeds\n  #   driver: local",
		"    ssh: leeds\n    driver: local").Replace(string(text))
	cfg, err = config.ReadSettings("c.yaml", []byte(chosen), []int{0, 1})
	if err != nil || cfg.Clusters[len(cfg.Clusters)-1].SSH != "leeds" {
		t.Errorf("with a host chosen: %+v, %v in\n%s", cfg, err, chosen)
	}
}

func TestAClusterIsCheckedWhereItIs(t *testing.T) {
	dir := t.TempDir()
	c := &config.Cluster{Name: "here", Driver: config.Local, Dir: dir}
	for _, f := range checkCluster(t.Context(), c) {
		if f.Needed && !f.OK {
			t.Errorf("%+v", f)
		}
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"sbatch": "true", "squeue": "true", "scancel": "true",
		"sinfo":    "echo short; echo long",
		"sacctmgr": "echo physics"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	failed := func(c *config.Cluster) []string {
		var list []string
		for _, f := range checkCluster(t.Context(), c) {
			if f.Needed && !f.OK {
				list = append(list, f.Check)
				if f.Fix == "" {
					t.Errorf("nothing is said that would fix %+v", f)
				}
			}
		}
		return list
	}
	slurm := config.Cluster{Name: "s", Driver: config.Slurm, Dir: dir, Commands: bin, Partition: "short",
		Options: []string{"--account=physics"}}
	if got := failed(&slurm); got != nil {
		t.Errorf("what is right fails: %q", got)
	}
	slurm.Partition, slurm.Options, slurm.Dir = "medium", []string{"-A", "maths"}, "/proc/nowhere"
	if got := failed(&slurm); !slices.Equal(got, []string{"folder", "partition", "account"}) {
		t.Errorf("what is wrong: %q", got)
	}
	slurm.Commands, slurm.Env = filepath.Join(dir, "none"), map[string]string{"PATH": "/nowhere"}
	away := &config.Cluster{Name: "x", Driver: config.Local, SSH: "nobody@host.invalid",
		SSHOptions: []string{"-oConnectTimeout=1"}}
	if got := failed(away); !slices.Equal(got, []string{"reach"}) {
		t.Errorf("a host that is not there: %q", got)
	}
}

func TestAReloadSaysWhatChanged(t *testing.T) {
	for want, r := range map[string]api.Reloaded{
		"nothing changed": {},
		"settings read again: added a, b; removed c; 1 job left in removed clusters (running jobs run to their end, " +
			"pending jobs are placed elsewhere)": {Added: []string{"a", "b"}, Removed: []string{"c"}, Draining: 1},
		"settings read again: other changes count from the next start of the broker on": {AtStart: true},
	} {
		if got := reloadedText(&r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAClusterThatHasNotDescribedItselfSaysSo(t *testing.T) {
	for want, c := range map[string]api.Cluster{
		"idle; speed and checkpoint methods not known yet: asking it": {State: "up", Asking: true, Why: "idle"},
		"checkpoint methods not known yet: asking it":                 {State: "up", Asking: true, Speed: 0.5},
		"speed not known; checkpoint methods: restart":                {State: "up", Methods: []string{"restart"}},
		"checkpoint methods: restart":                                 {State: "up", Speed: 1, Methods: []string{"restart"}},
		"no answer":                                                   {State: "down", Asking: true, Why: "no answer"},
		"3 of 8 cores free; 5 cores held by jobs of others or out of service; checkpoint methods: restart": {State: "up",
			Speed: 1, Why: "3 of 8 cores free", Others: 5, Methods: []string{"restart"}},
	} {
		if got := clusterNote(&c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestACheckLooksAtTheFolderThatTheBrokerUses(t *testing.T) {
	t.Setenv("GODWIT_STATE", "")
	t.Setenv("XDG_STATE_HOME", "/elsewhere")
	for _, test := range []struct {
		dir, host, want string
	}{
		{"", "", "/elsewhere/godwit/clusters/c"},
		{"", "login", "~/.local/state/godwit/outposts/c"},
		{"/scratch", "", "/scratch"},
		{"/scratch", "login", "/scratch"},
	} {
		if got := workDir(&config.Cluster{Name: "c", Dir: test.dir}, test.host); got != test.want {
			t.Errorf("dir %q on %q: %s, want %s", test.dir, test.host, got, test.want)
		}
	}
}
