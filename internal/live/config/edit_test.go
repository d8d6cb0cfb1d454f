package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

const written = `# our machines
clusters:
  # the desktop
  - name: here
    cpus: 2 # leave two to the owner
  - {name: leeds, driver: slurm, ssh: alice@login.leeds.example} # since March
policy: {place: wf}
`

func TestClustersAreAddedAndRemovedAndCommentsStay(t *testing.T) {
	more, err := AddCluster("c.yaml", []byte(written),
		[]Field{{"name", "york"}, {"driver", "gridengine"}, {"ssh", "bob@york.example"}, {"slots", "8"}})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := ReadSettings("c.yaml", more, four)
	if err != nil || len(cfg.Clusters) != 3 || cfg.Clusters[2].Name != "york" || cfg.Clusters[2].Slots != 8 ||
		cfg.Clusters[2].Driver != GridEngine {
		t.Fatalf("%+v, %v in\n%s", cfg, err, more)
	}
	less, err := RemoveCluster("c.yaml", more, "leeds")
	if err != nil {
		t.Fatal(err)
	}
	if cfg, err := ReadSettings("c.yaml", less, four); err != nil || len(cfg.Clusters) != 2 {
		t.Fatalf("%+v, %v in\n%s", cfg, err, less)
	}
	for _, c := range []string{"# our machines", "# the desktop", "# leave two to the owner"} {
		if !strings.Contains(string(more), c) || !strings.Contains(string(less), c) {
			t.Errorf("%q is gone from\n%s\nor\n%s", c, more, less)
		}
	}
	if _, err := RemoveCluster("c.yaml", []byte(written), "leed"); !badinput.Is(err) ||
		!strings.Contains(err.Error(), "leeds") {
		t.Errorf("removing a cluster that is not there: %v", err)
	}
}

func TestWrongSettingsAreNotWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "godwit", "config.yaml")
	if err := WriteSettings(file, []byte(written), four); err != nil {
		t.Fatal(err)
	}
	twice, err := AddCluster(file, []byte(written), []Field{{"name", "here"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteSettings(file, twice, four); !badinput.Is(err) {
		t.Errorf("two clusters of one name: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != written {
		t.Errorf("the file is %q, %v", text, err)
	}
}
