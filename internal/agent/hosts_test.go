package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHostsAreThoseThatTheManagerNames(t *testing.T) {
	for list, want := range map[string]string{
		"a1":                "a1",
		"a1,b2":             "a1 b2",
		"n[1-3]":            "n1 n2 n3",
		"n[08-10,12],login": "n08 n09 n10 n12 login",
		"a[1],b[2-3],c":     "a1 b2 b3 c",
		"":                  "",
		"n[1-":              "",
		"n[x-y]":            "",
		"n[1-999999999]":    "",
		"rack[1-2]-[1-2]":   "rack1 rack2 -1 -2", // two ranges in one name: not Slurm's way, harmless
		",,a":               "a",
		"n[-5]":             "",
		"n[0-0]":            "n0",
		"n[3-1]":            "",
		"]n[1]":             "",
		"n[1-2]m":           "n1 n2 m",
	} {
		if got := strings.Join(unfold(list), " "); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
	file := filepath.Join(t.TempDir(), "pe")
	if err := os.WriteFile(file, []byte("s1 2 all.q@s1 UNDEFINED\ns2 1 all.q@s2 UNDEFINED\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := hostsHere(func(name string) string { return map[string]string{"PE_HOSTFILE": file}[name] })
	if !slices.Equal(got, []string{"s1", "s2"}) {
		t.Errorf("of Grid Engine: %v", got)
	}
	here, _ := os.Hostname()
	if got := hostsHere(func(string) string { return "" }); !slices.Equal(got, []string{here}) {
		t.Errorf("without a manager: %v", got)
	}
}

func FuzzUnfold(f *testing.F) {
	f.Add("n[08-10,12],login")
	f.Fuzz(func(t *testing.T, list string) {
		if n := len(unfold(list)); n > 2*mostHosts+len(list) {
			t.Errorf("%d hosts of %q", n, list)
		}
	})
}
