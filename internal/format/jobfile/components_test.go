package jobfile

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

func TestAPartHasWhatItNamesAndElseWhatTheJobHas(t *testing.T) {
	j, _, err := readText(t, t.TempDir(), "run: main\non: north\nresources: {memory: 1G}\n"+
		"inputs: [north:/all]\ncomponents:\n"+
		"  - {procs: 4}\n"+
		"  - {procs: 2, num_nodes: 2, on: [south, east], run: other, resources: {memory: 2G}, inputs: [south:/own]}\n")
	if err != nil {
		t.Fatal(err)
	}
	if j.Min != 6 || j.Max != 6 || len(j.Components) != 2 {
		t.Errorf("%d to %d cores in %d parts", j.Min, j.Max, len(j.Components))
	}
	first, second := j.ForComponent(0, 4), j.ForComponent(1, 2)
	if first.Min != 4 || first.Argv[2] != "main" || first.On[0] != "north" || first.Memory != 1<<30 ||
		len(first.Far) != 1 || first.Nodes != 0 {
		t.Errorf("part 0 is %+v", first)
	}
	if second.Max != 2 || second.Argv[2] != "other" || !cmp.Equal(second.On, []string{"south", "east"}) ||
		second.Memory != 2<<30 || len(second.Far) != 2 || second.Far[1].As != "own" || second.Nodes != 2 {
		t.Errorf("part 1 is %+v", second)
	}
	if err := j.CheckFields(); err != nil {
		t.Error(err)
	}
}

// Jobs come as JSON too, from whoever asks the broker.
func TestPartsThatNoFileCouldHaveAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`"components":[{"procs":1},{"procs":1}]`: "",
		`"components":[{"procs":1},{"procs":2}]`: "components: together they have 3 cores, " +
			"and neither a pattern nor another size",
		`"components":[{"procs":-1},{"procs":3}]`: "components: part 0 has -1 cores, expected 1 to 1048576",
		`"components":[{"procs":1,"far":[{"from":"x","as":"y"}]},{"procs":1}]`: "components: part 0, input x: expected " +
			"cluster:path, or depot:ID; a file with such a name here is ./x",
		`"components":[{"procs":1,"argv":[""]},{"procs":1}]`: "components: part 0 has no command",
		`"mpi":true,"components":[{"procs":1},{"procs":1}]`:  "",
		`"mpi":true,"components":[{"procs":1},{"procs":1,"argv":["y"]}]`: "components: part 1 has a command of its own, " +
			"but with mpi: true all parts are one program: its command stands before them, as run",
	} {
		var j Job
		text = `{"argv":["x"],"min":2,"max":2,"checkpoint":{"method":"auto"},` + text + `}`
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			t.Fatal(err)
		}
		err := j.CheckFields()
		if got := ""; err != nil {
			got = err.Error()
			if got != want || !badinput.Is(err) {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		} else if want != "" {
			t.Errorf("%s is accepted", text)
		}
	}
}

func TestAJobSaysThatItsPartsAreOneProgram(t *testing.T) {
	for text, want := range map[string]bool{"": false, "mpi: false\n": false, "mpi: true\n": true} {
		j, _, err := readText(t, t.TempDir(), "run: mpirun x\ncomponents: [{procs: 1}, {procs: 1}]\n"+text)
		if err != nil || j.MPI != want || j.ForComponent(1, 1).MPI != want {
			t.Errorf("%q: %v, %v", text, j, err)
		}
	}
	if _, _, err := readText(t, t.TempDir(), "run: mpirun x\nmpi: perhaps\n"); !badinput.Is(err) {
		t.Errorf("it is accepted: %v", err)
	}
}
