package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// grid is two Slurm clusters, a Grid Engine cell and two machines that are just
// there, as clusters north, west, south, east1 and east2.
const grid = `
name: e2e
users: [alice, bob]
network: {wan: {mbps: 200, ms: 2}}
head: {mbps: 100}
clusters:
  - {name: north, manager: slurm, hosts: 2, cores: 2, cpus: 0.5}
  - {name: west, manager: slurm, hosts: 1, cores: 2, cpus: 0.5}
  - {name: south, manager: gridengine, hosts: 2, cores: 2, cpus: 0.5}
  - {name: east, manager: none, hosts: 2, cpus: 0.5}
`

var clusters = []string{"north", "west", "south", "east1", "east2"}

// steps writes a line now and then, and computes and perhaps sleeps in between,
// until n lines are written: the same lines however often it is moved.
const steps = `import hashlib, sys, time
h = b"seed"
for i in range(int(sys.argv[1])):
    for _ in range(int(sys.argv[2])):
        h = hashlib.sha256(h).digest()
    print(i, h.hex(), flush=True)
    time.sleep(float((sys.argv + [0])[3]))
`

// want is what steps.py writes.
func (b *bed) want(args ...string) string {
	b.t.Helper()
	b.file("steps.py", steps)
	out, err := command(b.work, "python3", append([]string{"steps.py"}, args...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func TestAGridOfRealClusters(t *testing.T) {
	b := upShared(t, grid)
	for _, part := range []struct {
		name string
		test func(*bed)
	}{
		{"TwoHundredJobsEndAsTheyShould", mixedJobs},
		{"JobsThatGoAroundUsAreCounted", aroundUs},
		{"InputsGoEverywhere", inputsGoEverywhere},
		{"SourcesAreBuiltWhereTheyRun", builtWhereItRuns},
		{"AJobGoesThroughAllManagers", throughAllManagers},
		{"AClusterIsCutOff", cutOff}, // until things break, a minute later
		{"LoadMovesAJobWithADeadline", loadMoves},
		{"NothingIsLostWhenThingsBreak", breakThings},
	} {
		if !t.Run(part.name, func(t *testing.T) {
			in := *b
			in.t = t
			part.test(&in)
		}) {
			return // the lab is not as the next expects it
		}
	}
}

// odd is a text that a shell would do terrible things with.
const odd = "$(touch /tmp/e2e-pwned) `id` ; rm -rf \"$HOME\" 'quoted' \\ * ? \t ünïcödé | & > /tmp/e2e-pwned #"

func mixedJobs(b *bed) {
	const each = 10 // of each kind, and of each user
	users := []*bed{b, b.as("bob")}
	for _, u := range users {
		u.file("data.txt", "what "+u.user+"'s job reads\n")
	}
	type kind struct {
		text string
		code func(i int) int
		out  func(u *bed, i int) string
	}
	ok := func(int) int { return 0 }
	array := fmt.Sprintf("array: 1-%d\nworkdir: .\n", each)
	same := func(text string) func(*bed, int) string { return func(*bed, int) string { return text } }
	index := func(_ *bed, i int) string { return fmt.Sprintf("%d\n", i) }
	kinds := []kind{
		{array + "run: exit $((GODWIT_INDEX % 7))\n", func(i int) int { return i % 7 }, same("")},
		{array + "run: echo out $GODWIT_INDEX $(id -u); echo err $GODWIT_INDEX >&2\n", ok,
			func(u *bed, i int) string { return fmt.Sprintf("out %d %d\n", i, u.number()) }},
		{array + "run: cat data.txt; echo $GODWIT_INDEX $(id -u) > result-$GODWIT_INDEX.txt\n", ok,
			func(u *bed, _ int) string { return "what " + u.user + "'s job reads\n" }},
		{array + "argv: [printf, '%s\\n', " + quoteYAML(odd) + "]\n", ok, same(odd + "\n")},
		{array + "envs: {ODD: " + quoteYAML(odd) + "}\nargv: [sh, -c, 'printf \"%s\\n\" \"$ODD\"']\nname: odd\n", ok,
			same(odd + "\n")},
		{array + "run: sleep 0.5; exit 3\ncheckpoint: {method: restart}\n", func(int) int { return 3 }, same("")},
		{array + "run: kill -9 $$\n", func(int) int { return 137 }, same("")},
		{fmt.Sprintf("#!/bin/sh\n#SBATCH --array=1-%d\n#SBATCH --job-name=sb\n#SBATCH --time=5\necho $SLURM_ARRAY_TASK_ID\n",
			each), ok, index},
		{fmt.Sprintf("#!/bin/sh\n#$ -t 1-%d\n#$ -N qs\n#$ -cwd\necho $SGE_TASK_ID; exit 1\n", each),
			func(int) int { return 1 }, index},
		{array + "run: head -c 100000 /dev/zero | tr '\\0' x | fold -w 100 | tail -n 1; id -u\n", ok,
			func(u *bed, _ int) string { return fmt.Sprintf("%s%d\n", strings.Repeat("x", 100), u.number()) }},
	}
	type job struct {
		id   string
		i    int
		kind kind
		user *bed
	}
	var jobs []job
	for _, k := range kinds {
		for _, u := range users {
			ids := u.submit(k.text)
			if len(ids) != each {
				b.t.Fatalf("%d jobs of %s", len(ids), k.text)
			}
			for i, id := range ids {
				jobs = append(jobs, job{id, i + 1, k, u})
			}
		}
	}
	users[0].closedTo(users[1], jobs[0].id)
	begin := time.Now()
	all := map[string]shown{}
	b.until("all jobs to end", func() bool {
		for _, u := range users {
			maps.Copy(all, u.all())
		}
		for _, s := range all {
			if !s.over() {
				return false
			}
		}
		return true
	})
	b.t.Logf("%d jobs in %v", len(jobs), time.Since(begin).Round(time.Second))
	ran, wrote := map[string]int{}, map[string]string{}
	for _, u := range users {
		var ids, elements []string
		for _, j := range jobs {
			if j.user == u {
				first, _ := strconv.Atoi(j.id)
				ids, elements = append(ids, j.id), append(elements, fmt.Sprintf("%d_%d", first-j.i+1, j.i))
			}
		}
		for i, text := range u.logs(elements) {
			wrote[ids[i]] = text
		}
	}
	for _, j := range jobs {
		s := all[j.id]
		ran[s.Cluster]++
		if s.Code == nil || *s.Code != j.kind.code(j.i) {
			b.t.Errorf("job %s on %s: %+v, want exit code %d\n%s", j.id, s.Cluster, s, j.kind.code(j.i), j.kind.text)
		}
		if out, want := wrote[j.id], j.kind.out(j.user, j.i); out != want {
			b.t.Errorf("job %s of %s on %s wrote %.300q, want %.300q", j.id, j.user.user, s.Cluster, out, want)
		}
	}
	b.t.Logf("ran on %v", ran)
	for _, c := range clusters {
		if ran[c] == 0 {
			b.t.Errorf("nothing ran on %s: %v", c, ran)
		}
	}
	for _, u := range users {
		for i := 1; i <= each; i++ {
			u.result(i)
		}
	}
	for _, h := range b.lab.AllHosts() {
		if out := b.on(h.Name, "ls /tmp"); strings.Contains(out, "pwned") {
			b.t.Errorf("a job's text was run on %s", h.Name)
		}
	}
}

// result looks at a file that a job brought home: written by its owner, who has it.
func (b *bed) result(i int) {
	b.t.Helper()
	file := filepath.Join(b.work, fmt.Sprintf("result-%d.txt", i))
	b.until(file+" to come home", func() bool { _, err := os.Stat(file); return err == nil })
	text, err := os.ReadFile(file)
	if err != nil || string(text) != fmt.Sprintf("%d %d\n", i, b.number()) {
		b.t.Errorf("result %d of %s: %q, %v", i, b.user, text, err)
	}
	if info, err := os.Stat(file); err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != b.number() {
		b.t.Errorf("%s is not %s's: %v", file, b.user, err)
	}
}

func throughAllManagers(b *bed) {
	want := b.want("150", "40000")
	// It sleeps so that it is still under way however long orders take. It has a name of
	// its own, as it is remembered how much of a processor a program takes.
	b.file("traveller.py", steps)
	id := b.submit("name: traveller\nworkdir: .\nrun: python3 traveller.py 150 40000 0.2\ncheckpoint: {method: " +
		"sandbox}\non: [north, south, east1, west]\n")[0]
	route := []string{"north", "south", "east1", "west"}
	for _, to := range route {
		b.until("job "+id+" to run", func() bool { s := b.show(id); return s.over() || s.State == "RUNNING" })
		if s := b.show(id); s.over() {
			b.t.Fatalf("it ended too early: %+v", s)
		} else if s.Cluster != to {
			b.godwit("migrate", id, "--to", to)
			b.until("it to run in "+to, func() bool {
				s := b.show(id)
				return s.State == "RUNNING" && s.Cluster == to ||
					s.over()
			})
		}
	}
	s := b.wait(id)
	if s.Code == nil || *s.Code != 0 || s.Migrations < len(route)-1 || s.Cluster != "west" {
		b.t.Errorf("it ended as %+v\n%s", s, b.godwit("explain", id))
	}
	if out := b.godwit("logs", id); out != want {
		b.t.Errorf("it wrote other than an undisturbed run: %d bytes, want %d", len(out), len(want))
	}
}

// Where orders take long a job may end before the load is there or noticed, and
// where others use this machine it may be better off where it is: then there is
// another one.
func loadMoves(b *bed) {
	for try := 1; !b.movedByLoad(); try++ {
		if try == 3 {
			b.t.Fatal("it always ends where it began")
		}
	}
}

// movedByLoad has a job run where load comes up, and says whether it was moved.
func (b *bed) movedByLoad() (moved bool) {
	// Alone it takes a quarter of a minute, beside six others a minute and a half.
	want := b.want("200", "40000")
	id := b.submit("name: urgent\nworkdir: .\nrun: python3 steps.py 200 40000\ncheckpoint: {method: sandbox}\nestimate: " +
		"7s\ndeadline: 70s\non: [east1, east2]\n")[0]
	b.until("job "+id+" to run", func() bool { s := b.show(id); return s.over() || s.State == "RUNNING" })
	from := b.show(id).Cluster
	b.do("load", from, "6")
	late := time.Now().Add(70 * time.Second)
	b.until("job "+id+" to be moved", func() bool {
		s := b.show(id)
		return s.Migrations > 0 && s.State == "RUNNING" || s.over() || time.Now().After(late)
	})
	b.do("load", from, "0")
	s := b.wait(id)
	if s.Code == nil || *s.Code != 0 || s.Migrations == 1 && s.Cluster == from {
		b.t.Errorf("loaded was %s; it ended as %+v\n%s", from, s, b.godwit("explain", id))
	}
	if out := b.godwit("logs", id); out != want {
		b.t.Errorf("it wrote other than an undisturbed run: %d bytes, want %d", len(out), len(want))
	}
	if s.Migrations == 0 {
		b.t.Logf("loaded was %s; it ended as %+v\n%s", from, s, b.godwit("explain", id))
	}
	return s.Migrations > 0
}
