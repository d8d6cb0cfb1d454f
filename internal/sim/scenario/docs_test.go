package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
)

// TestTheExamplesInTheGuideAreRead keeps docs/scenarios.md true.
func TestTheExamplesInTheGuideAreRead(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "scenarios.md"))
	if err != nil {
		t.Fatal(err)
	}
	das3, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "platforms", "das3.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	on, err := platform.Parse("das3.yaml", append(das3,
		"files: [{name: sky.dat, size: 1G, at: [vu]}, {name: engine.db, size: 1G, at: [uva]}]\n"...))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(guide), "```yaml\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("%d examples, want 2", len(blocks))
	}
	for _, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		text = strings.Replace(text, "traces/KTH-SP2-1996-2.swf.gz", "testdata/small.swf", 1)
		s, err := scenario.Parse("guide.yaml", []byte(text), on)
		if err != nil {
			t.Error(err)
			continue
		}
		if source, _, err := s.OpenJobs(s.Seed); err != nil || source.Len() == 0 {
			t.Error(err)
		}
		s.BackgroundJobs(1, core.Never).NextJob()
		s.HostChanges(1, core.Never).NextChange()
	}
}
