package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(good))
	f.Add([]byte("platform:\n  " + strings.ReplaceAll(strings.TrimSpace(two), "\n", "\n  ") + "\n" + good))
	f.Add([]byte("{platform: {clusters: [{name: u, hosts: 3}]}, trace: {file: testdata/small.swf}}"))
	f.Add([]byte("a: &a [*a]\nworkload: *a"))
	f.Add([]byte("# \u2028\nplatform:\n  clusters: [{name: u, hosts: 3}]\rtrace: {file: testdata/small.swf}"))
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "scenarios", "*", "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	on := grid(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scenario.Parse("fuzz.yaml", data, on)
		check(t, s, err)
		if writtenOut(data) {
			s, err = scenario.Parse("fuzz.yaml", data, nil)
			check(t, s, err)
		}
	})
}

// writtenOut says whether the text contains its platform: others would make
// the test open whatever files it makes up.
func writtenOut(data []byte) bool {
	var top struct{ Platform yaml.Node }
	return yaml.Unmarshal(data, &top) == nil && top.Platform.Kind == yaml.MappingNode
}

func check(t *testing.T, s *scenario.Scenario, err error) {
	if err != nil {
		if !badinput.Is(err) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("not a one-line bad-input error: %v", err)
		}
		return
	}
	if s.Workload != nil && s.Workload.Jobs <= 10_000 {
		source, _, err := s.OpenJobs(1)
		if err != nil {
			t.Fatalf("read without error, but: %v", err)
		}
		for j := new(workload.Job); source.NextJob(j); {
			if j.Work <= 0 || j.Spec.MinSize() < 1 || j.Spec.MaxSize() < j.Spec.MinSize() {
				t.Fatalf("job %+v", j)
			}
		}
	}
	last := core.Time(0)
	for b, i := s.BackgroundJobs(1, core.Never), 0; i < 1000; i++ {
		j, ok := b.NextJob()
		if ok && (j.At < last || j.Procs < 1 || j.Run <= 0) {
			t.Fatalf("background job %+v after %v", j, last)
		}
		last = max(last, j.At)
	}
	last = 0
	for h, i := s.HostChanges(1, core.Never), 0; i < 1000; i++ {
		c, ok := h.NextChange()
		if ok && c.At < last {
			t.Fatalf("change %+v after %v", c, last)
		}
		last = max(last, c.At)
	}
}
