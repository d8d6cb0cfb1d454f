package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// batchSystems is a cluster of each manager that has processors to give to jobs that run.
const batchSystems = `
name: resize
users: [alice]
clusters:
  - {name: north, manager: slurm, hosts: 1, cores: 4, cpus: 0.7}
  - {name: south, manager: gridengine, hosts: 1, cores: 4, cpus: 0.7}
`

// changesOf is how often the size of each program is changed on each cluster; GODWIT_RESIZES says otherwise.
func changesOf(t *testing.T) int {
	text := os.Getenv("GODWIT_RESIZES")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("GODWIT_RESIZES is %q, which is no number from 1 on", text)
	}
	return n
}

// A job that runs in a batch system is given more cores, which its manager knows of, and gives them back.
func TestJobsChangeTheirSizeInBatchSystems(t *testing.T) {
	b := up(t, batchSystems)
	for from, to := range map[string]string{"examples/jobs/crowd.py": "crowd.py", "program/python/godwit.py": "godwit.py",
		"examples/apps/build/heat": "heat", "examples/apps/build/bodies": "bodies"} {
		text, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			t.Fatalf("%v: make examples", err)
		}
		if err := os.Chmod(b.file(to, string(text)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, cluster := range []string{"north", "south"} {
		for _, p := range []malleable{
			{"python3 crowd.py 40 2000 %s", "python3 crowd.py 40 2000"},
			{"mpirun --oversubscribe -n 4 ./heat 200 1000000000 %s", "./heat 200 %d"},
			{"mpirun --oversubscribe -n 4 ./bodies 100 1000000000 %s", "./bodies 100 %d"},
		} {
			name := cluster + "/" + strings.TrimPrefix(strings.Fields(p.run)[len(strings.Fields(p.run))-4], "./")
			if !t.Run(name, func(t *testing.T) {
				in := *b
				in.t = t
				in.changeSizes(cluster, p)
			}) {
				return
			}
		}
	}
	t.Run("OneThatWaitsInTheQueueIsMadeRoomFor", func(t *testing.T) {
		in := *b
		in.t = t
		in.makesRoom([]string{"north", "south"})
	})
}

// makesRoom has a job hold all cores of each cluster that can do with fewer, and a rigid job submitted to each: its manager
// starts it, though nobody ends.
func (b *bed) makesRoom(on []string) {
	b.file("sized.py", sized)
	var holding []*sizedJob
	for _, c := range on {
		holding = append(holding, b.startSized(c, "-room"))
	}
	for _, c := range on {
		b.until("all cores of "+c+" to be held", func() bool { return b.held(c) == 4 })
	}
	rigid := map[string]string{}
	for _, c := range on {
		rigid[c] = b.submit("workdir: .\nprocs: 2\nnum_nodes: 1\non: [" + c + "]\ncheckpoint: restart\nrun: \"true\"\n")[0]
	}
	for c, id := range rigid {
		s := b.wait(id)
		if s.State != "DONE" {
			b.t.Errorf("in %s it ended %s: %s", c, s.State, s.Reason)
		}
		b.t.Logf("%s: the rigid job waited %.1f s", c, s.Started.Sub(s.Submitted).Seconds())
	}
	for _, j := range holding {
		b.on(j.cluster+"1", "touch "+j.end)
		if s := b.wait(j.id); s.State != "DONE" {
			b.t.Errorf("in %s it ended %s: %s\n%s", j.cluster, s.State, s.Reason, b.told(j.id))
		}
	}
}

// malleable is a program that follows when its size changes.
type malleable struct {
	run   string // with the file that has to be there for it to end
	alone string // the same without a broker, perhaps with how many steps it took
}

// changeSizes has a program run with many sizes, one after the other, and looks at the manager each time.
func (b *bed) changeSizes(cluster string, p malleable) {
	end := filepath.Join(b.home(), fmt.Sprintf("end-%s-%d", cluster, time.Now().UnixNano()))
	id := b.submit(fmt.Sprintf("workdir: .\nkind: malleable\nprocs: 1-4\non: [%s]\ncheckpoint: restart\nrun: %s\n", cluster,
		fmt.Sprintf(p.run, end)))[0]
	defer func() {
		if b.t.Failed() {
			b.t.Log(b.try("explain", id))
		}
		_, _ = b.try("cancel", id)
	}()
	b.until("job "+id+" to run", func() bool { return b.show(id).State == "RUNNING" })
	b.resize(id, 4)
	b.until("the manager to know it", func() bool { return b.held(cluster) == 4 })
	random, size := rand.New(rand.NewPCG(3, uint64(time.Now().UnixNano()))), 4
	var lost time.Duration
	changes := changesOf(b.t)
	for range changes {
		next := 1 + random.IntN(3)
		if next >= size {
			next++
		}
		began := time.Now()
		b.resize(id, next)
		lost += time.Since(began)
		size = next
		b.until("the manager to know it", func() bool { return b.held(cluster) == size })
	}
	b.t.Logf("%d changes, %.2f s each", changes, lost.Seconds()/float64(changes))
	b.on(cluster+"1", "touch "+end)
	if s := b.wait(id); s.State != "DONE" {
		b.t.Fatalf("it ended %s: %s\n%s", s.State, s.Reason, b.told(id))
	}
	b.until("the manager to have all cores back", func() bool { return b.held(cluster) == 0 })
	b.checkResult(id, p)
}

// resize gives a job another size and wants it to be had. The policy may have offered it one just before.
func (b *bed) resize(id string, cores int) {
	b.t.Helper()
	var out string
	b.until("job "+id+" to answer what it was offered", func() bool {
		var err error
		out, err = b.try("resize", id, strconv.Itoa(cores))
		if err != nil && !strings.Contains(err.Error(), "has not answered yet") {
			b.t.Fatalf("resize %s %d: %v", id, cores, err)
		}
		return err == nil
	})
	if !strings.Contains(out, fmt.Sprintf("has %d core", cores)) {
		b.t.Fatalf("resize %s %d: %s", id, cores, out)
	}
}

// checkResult compares what a job printed with what its program prints without a broker.
func (b *bed) checkResult(id string, p malleable) {
	out := strings.TrimSpace(b.godwit("logs", id))
	last := out[strings.LastIndex(out, "\n")+1:]
	alone := p.alone
	if strings.Contains(alone, "%d") {
		var steps int
		if _, err := fmt.Sscanf(last[max(0, strings.LastIndex(last, "after")):], "after %d steps", &steps); err != nil {
			b.t.Fatalf("it printed %q: %v", out, err)
		}
		alone = fmt.Sprintf(alone, steps)
	}
	cmd := exec.Command("/bin/sh", "-c", alone)
	cmd.Dir, cmd.Env = b.work, append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	text, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%s: %v", alone, err)
	}
	want := strings.TrimSpace(string(text))
	want = want[strings.LastIndex(want, "\n")+1:]
	result := func(s string) string { s, _, _ = strings.Cut(s, " most processes"); return s }
	if result(last) != result(want) {
		b.t.Errorf("it printed %q, and without a broker %q", last, want)
	}
}

// held is how many cores the manager of a cluster says are in use.
func (b *bed) held(cluster string) int {
	b.t.Helper()
	c, err := b.lab.FindCluster(cluster)
	if err != nil {
		b.t.Fatal(err)
	}
	s := b.lab.BrokerSettings(c, "alice")[0]
	var ask strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		fmt.Fprintf(&ask, "export %s='%s'; ", key, s.Env[key])
	}
	if s.Commands != "" {
		fmt.Fprintf(&ask, "PATH='%s':$PATH; ", s.Commands)
	}
	if s.Driver == "slurm" {
		ask.WriteString("squeue -h -t R -o %C")
	} else {
		ask.WriteString(`qstat -s r -u '*' | awk 'NR > 2 { print $9 }'`)
	}
	sum := 0
	for word := range strings.FieldsSeq(b.on(cluster+"1", ask.String())) {
		n, err := strconv.Atoi(word)
		if err != nil {
			b.t.Fatalf("the manager says %q", word)
		}
		sum += n
	}
	return sum
}
