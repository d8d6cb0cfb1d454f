package daemon_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// coupled is a job of two parts, one on each cluster.
func coupled(line string) jobfile.Job {
	spec := job("/bin/sh", "-c", line)
	spec.Min, spec.Max = 2, 2
	spec.Components = []jobfile.Component{{Procs: 1, On: []string{"a"}}, {Procs: 1, On: []string{"b"}}}
	return spec
}

// meet is a line with which the parts of an attempt wait for each other in a folder: a part that is
// alone for 30 s ends with 77.
func meet(dir string) string {
	return `at=` + dir + `/${GODWIT_ATTEMPT%%.*}; mkdir -p $at; : > $at/$GODWIT_PART; n=0; ` +
		`while [ ! -e $at/$((1-GODWIT_PART)) ]; do n=$((n+1)); [ $n -gt 300 ] && exit 77; sleep 0.1; done; `
}

func (b *bed) partOutput(id string, part int) string {
	b.Helper()
	var out bytes.Buffer
	if _, err := b.client.CopyPartLogs(context.Background(), id, part, 1, 0, false, &out); err != nil {
		b.Fatal(err)
	}
	return out.String()
}

func TestAJobOfTwoPartsRunsOnBothClustersTogether(t *testing.T) {
	b := up(t, twoClusters)
	home := t.TempDir()
	for name, text := range map[string]string{"shared": "old\n", "kept": "as it was\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := coupled(meet(t.TempDir()) + `echo part $GODWIT_PART of $GODWIT_PARTS, ` +
		`rank $GODWIT_FIRST_RANK of $GODWIT_RANKS, with $GODWIT_PART_0_CLUSTER and $GODWIT_PART_1_CLUSTER; ` +
		`[ -n "$GODWIT_PART_0_HOSTS" ] && [ -n "$GODWIT_PART_1_HOSTS" ] || exit 9; ` +
		`echo $GODWIT_PART > made.$GODWIT_PART; echo $GODWIT_PART > shared`)
	spec.Workdir = home
	id := b.submit(spec)
	j := b.end(id)
	if j.State != core.Done || j.ExitCode == nil || *j.ExitCode != 0 || j.Attempts != 1 {
		t.Fatalf("it is %s, code %v, after %d attempts: %s", j.State, j.ExitCode, j.Attempts, j.Why)
	}
	for part := range 2 {
		want := fmt.Sprintf("part %d of 2, rank %d of 2, with a and b\n", part, part)
		if got := b.partOutput(id, part); got != want {
			t.Errorf("part %d wrote %q, want %q", part, got, want)
		}
	}
	for name, want := range map[string]string{"made.0": "0\n", "made.1": "1\n", "shared": "0\n", "kept": "as it was\n"} {
		if got, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
		}
	}
	if len(j.Parts) != 2 || j.Parts[0].Cluster != "a" || j.Parts[1].Cluster != "b" {
		t.Errorf("its parts are %+v", j.Parts)
	}
}

// One mpirun, in part 0, starts ranks in both parts: they send each other messages, and each runs below the agent of
// its own part, in the working directory of that.
func TestOneMPIProgramRunsInBothParts(t *testing.T) {
	source, err := filepath.Abs("../../../examples/apps/ring.c")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if out, err := exec.Command("mpicc", "-O2", "-o", filepath.Join(home, "ring"), source).CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	b := up(t, twoClusters)
	spec := coupled(`mpirun ./ring 20 && mpirun sh -c 'echo rank of $GODWIT_ATTEMPT in $(pwd)'`)
	spec.MPI, spec.Workdir, spec.Min, spec.Max = true, home, 4, 4
	spec.Components[0].Procs, spec.Components[1].Procs = 2, 2
	spec.Outputs = []string{jobfile.NoOutputs}
	maps.Copy(spec.Env, map[string]string{"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
		"OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_mpi_yield_when_idle": "1"}) // the test's machine may have no other
	id := b.submit(spec)
	j := b.end(id)
	out := b.partOutput(id, 0)
	if j.State != core.Done || !strings.Contains(out, "token 200 after 20 rounds of 4 ranks: right") {
		var complaints bytes.Buffer
		_, _ = b.client.CopyPartLogs(context.Background(), id, 0, 2, 0, false, &complaints)
		t.Fatalf("it is %s: %s; it wrote\n%s%s", j.State, j.Why, out, &complaints)
	}
	where := map[string]int{}
	for _, m := range regexp.MustCompile(`rank of (\S+) in (\S+)\n`).FindAllStringSubmatch(out, -1) {
		where[m[1]+" "+m[2]]++
	}
	if len(where) != 2 {
		t.Errorf("the ranks were at %v", where)
	}
	for place, n := range where {
		mark, dir, _ := strings.Cut(place, " ")
		cluster := "a"
		if strings.HasSuffix(mark, ".1") {
			cluster = "b"
		}
		if n != 2 || !strings.Contains(dir, "/"+cluster+"/") {
			t.Errorf("%d ranks of %s were in %s", n, mark, dir)
		}
	}
	if got := b.partOutput(id, 1); got != "" {
		t.Errorf("part 1 wrote %q", got)
	}
	b.nothingLeft(id)
}

func TestTheFailureOfAPartEndsTheWholeJob(t *testing.T) {
	b := up(t, twoClusters)
	spec := coupled(meet(t.TempDir()) + `[ $GODWIT_PART = 1 ] && exit 6; exec sleep 600`)
	grace := time.Second
	spec.Grace = &grace
	id := b.submit(spec)
	if j := b.end(id); j.State != core.Failed || j.ExitCode == nil || *j.ExitCode != 6 ||
		!strings.Contains(j.Why, "part 1 (b)") {
		t.Errorf("it is %s, code %v: %s", j.State, j.ExitCode, j.Why)
	}
}

// partKills is how many processes the test kills; GODWIT_KILLS overrides.
const partKills = 40

// Whatever is killed while parts are claimed, begin and run, none ever runs without the other, and
// the job ends once.
func TestWhateverIsKilledNoPartRunsAlone(t *testing.T) {
	c := newChaos(t)
	total := partKills
	if n, err := strconv.Atoi(os.Getenv("GODWIT_KILLS")); err == nil {
		total = n
	}
	together := t.TempDir()
	count := map[string]int{}
	var ids []string
	for done := 0; done < total; {
		for c.live(ids) < 2 {
			// both have written all when the first ends, with an exit code that ends the other
			spec := coupled(meet(together+"/begin") + strings.Replace(steps, "exit 3", meet(together+"/end")+"exit 3", 1))
			spec.Retries, spec.Key = 1_000_000, fmt.Sprintf("%s %d", c.dir, len(ids))
			spec.Env["GODWIT_CHAOS"] = c.dir
			made := again(c, func(ctx context.Context) (api.Submitted, error) {
				return c.client.SubmitJob(ctx, &api.Submit{Job: spec})
			})
			ids = append(ids, fmt.Sprint(made.IDs[0]))
		}
		time.Sleep(time.Duration(c.random.IntN(400)) * time.Millisecond)
		c.once()
		if kind := c.kill(); kind != "" {
			count[kind]++
			if done++; kind == "broker" {
				c.untilBack()
			}
		}
	}
	for _, id := range ids {
		c.check(id)
		var out bytes.Buffer
		again(c, func(ctx context.Context) (int64, error) {
			out.Reset()
			return c.client.CopyPartLogs(ctx, id, 1, 1, 0, false, &out)
		})
		if out.String() != wantSteps() {
			t.Errorf("part 1 of job %s wrote %q", id, out.String())
		}
	}
	t.Logf("%d jobs of two parts; %d kills: %v", len(ids), total, count)
	c.nothingLeft()
}

// coallocations is how many jobs of two parts begin while a cluster fails; GODWIT_COALLOCATIONS overrides.
const coallocations = 2

// A cluster that is out of reach at any moment of the start of a job of two parts, for a moment or longer than the
// parts wait for each other: the job begins on both or on none, ends once, and nothing is left anywhere.
func TestAJobOfTwoPartsBeginsOnBothOrOnNoneThoughAClusterFails(t *testing.T) {
	s := sshdtest.Start(t)
	settings := nearAndFar(t, s, ", slots: 4")
	b := up(t, strings.Replace(settings, "sample: 200ms", "sample: 200ms, claim_grace: 3s, retry: 1s", 1)).reached()
	b.far = filepath.Join(s.Dir, "far")
	total := coallocations
	if n, err := strconv.Atoi(os.Getenv("GODWIT_COALLOCATIONS")); err == nil {
		total = n
	}
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	attempts, together := map[int]int{}, t.TempDir()
	for range total {
		patient := strings.Replace(meet(together), "-gt 300", "-gt 3000", 1) // ssh may take long to be back
		spec := coupled(patient + "echo met")
		spec.Components[0].On, spec.Components[1].On = []string{"near"}, []string{"far"}
		id := b.submit(spec)
		time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond) // the moment is what is tried
		s.SetDown(true)
		time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond)
		s.SetDown(false)
		j := b.end(id)
		if j.State != core.Done || b.partOutput(id, 0) != "met\n" || b.partOutput(id, 1) != "met\n" {
			t.Fatalf("job %s is %s after %d attempts: %s; its parts wrote %q and %q", id, j.State, j.Attempts, j.Why,
				b.partOutput(id, 0), b.partOutput(id, 1))
		}
		attempts[j.Attempts]++
		b.nothingLeft(id)
		b.nothingFar(s, id)
	}
	t.Logf("%d jobs, by the attempts that they took: %v", total, attempts)
	b.reached()
	clusters, err := b.client.ListClusters(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i := range clusters {
		if c := &clusters[i]; c.Idle != c.Procs {
			t.Errorf("of %d cores of %s %d are idle", c.Procs, c.Name, c.Idle)
		}
	}
}
