package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// resizable is batchSystems with plain machines beside them, for jobs that only say which size they have.
const resizable = `
name: kills
users: [alice]
clusters:
  - {name: north, manager: slurm, hosts: 2, cores: 4, cpus: 0.4}
  - {name: south, manager: gridengine, hosts: 2, cores: 4, cpus: 0.4}
  - {name: east, manager: ssh, hosts: 1, cores: 4, cpus: 0.4}
`

// sized takes whatever size it is offered, and notes in a file which it has.
const sized = `
import os, sys, time, godwit
end, note = sys.argv[1:]
def write(size):
    with open(note + ".new", "w") as f:
        f.write(str(size))
    os.rename(note + ".new", note)
size = max(godwit.size(), 1)
write(size)
while not os.path.exists(end):
    offered = godwit.offered_size()
    if offered:
        if offered < size:
            size = offered
            write(size)
        godwit.accept_size(offered)
    if godwit.size() > size:
        size = godwit.size()
        write(size)
    time.sleep(0.02)
`

// killsOf is how many processes are killed while jobs change their sizes; GODWIT_RESIZE_KILLS says otherwise.
func killsOf(t *testing.T) int {
	text := os.Getenv("GODWIT_RESIZE_KILLS")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("GODWIT_RESIZE_KILLS is %q, which is no number from 1 on", text)
	}
	return n
}

// Jobs grow and shrink in Slurm, in Grid Engine and on plain machines while somebody kills the broker, agents, the jobs
// that hold cores, outposts, and restarts the managers. Afterwards each program, the broker and the manager say the
// same of its size.
func TestWhoeverIsKilledWhileJobsChangeTheirSizeAllAgreeAfterwards(t *testing.T) {
	b := up(t, resizable)
	module, err := os.ReadFile(filepath.Join(root, "program/python/godwit.py"))
	if err != nil {
		t.Fatal(err)
	}
	b.file("godwit.py", string(module))
	b.file("sized.py", sized)
	for _, v := range b.env { // a command that finds no broker is not to start one of its own
		if state, ok := strings.CutPrefix(v, "GODWIT_STATE="); ok {
			b.env = append(b.env, "GODWIT_SOCKET="+filepath.Join(state, "broker.sock"))
		}
	}
	b.keepSizes()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 5))
	jobs := b.startAllSized(0)
	targets := targetsOf(jobs)
	for n := range killsOf(t) {
		if n > 0 && n%(5*len(targets)) == 0 { // a job that is lost too often is given up
			b.endSized(jobs)
			jobs = b.startAllSized(n)
		}
		if n%len(targets) == 0 {
			random.Shuffle(len(targets), func(i, k int) { targets[i], targets[k] = targets[k], targets[i] })
		}
		target := targets[n%len(targets)]
		var resizing sync.WaitGroup
		for _, j := range jobs {
			cores := 1 + random.IntN(4)
			resizing.Go(func() { b.changeSize(j, cores) })
		}
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond) // at any moment: there is nothing to wait for
		began := time.Now()
		target.kill(b)
		resizing.Wait()
		b.agree(jobs, "after kill "+strconv.Itoa(n+1)+", of "+target.name)
		t.Logf("kill %d, of %s: they agree after %v", n+1, target.name, time.Since(began).Round(100*time.Millisecond))
	}
	b.endSized(jobs)
}

// startAllSized starts a job in each cluster.
func (b *bed) startAllSized(n int) (jobs []*sizedJob) {
	for _, c := range []string{"north", "south", "east"} {
		jobs = append(jobs, b.startSized(c, strconv.Itoa(n)))
	}
	b.agree(jobs, "at first")
	return jobs
}

// endSized has the jobs end, and the managers have everything back.
func (b *bed) endSized(jobs []*sizedJob) {
	for _, j := range jobs {
		b.on(j.cluster+"1", "touch "+j.end)
		if s := b.wait(j.id); s.State != "DONE" {
			b.t.Errorf("in %s it ended %s: %s\n%s", j.cluster, s.State, s.Reason, b.told(j.id))
		}
	}
	for _, j := range jobs[:2] {
		b.until(j.cluster+" to have all cores back", func() bool { return b.held(j.cluster) == 0 })
	}
}

// keepSizes has the broker leave sizes to those who ask for them, and begin jobs again at once.
func (b *bed) keepSizes() {
	b.t.Helper()
	file := b.lab.Dir + "/broker.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, section := range []string{"policy:", "intervals:"} {
		if strings.Contains("\n"+string(text), "\n"+section) {
			b.t.Fatalf("the settings have %s already:\n%s", section, text)
		}
	}
	text = append(text, "\npolicy: {malleable: none}\nintervals: {retry: 0s, grow_grace: 5s}\n"...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.killBroker()
	b.startBroker()
}

// sizedJob is a job that says which size it has.
type sizedJob struct {
	id, cluster, end, note string
}

// startSized starts one of several in a cluster.
func (b *bed) startSized(cluster, which string) *sizedJob {
	j := &sizedJob{cluster: cluster, end: filepath.Join(b.home(), "end-"+cluster+which),
		note: filepath.Join(b.home(), "size-"+cluster+which)}
	j.id = b.submit(fmt.Sprintf("workdir: .\nkind: malleable\nprocs: 1-4\non: [%s]\ncheckpoint: restart\nrun: python3 sized.py %s %s\n",
		cluster, j.end, j.note))[0]
	return j
}

// changeSize asks for another size. What is killed may be what was to answer.
func (b *bed) changeSize(j *sizedJob, cores int) {
	if out, err := b.try("resize", j.id, strconv.Itoa(cores)); err != nil {
		b.t.Logf("resize in %s: %v %s", j.cluster, err, out)
	}
}

// target is what is killed.
type target struct {
	name string
	kill func(b *bed)
}

func targetsOf(jobs []*sizedJob) []target {
	list := []target{{"the broker", func(b *bed) { b.killBroker(); b.startBroker() }}}
	for _, j := range jobs {
		list = append(list, target{"the agent in " + j.cluster, func(b *bed) {
			b.eachHost(j.cluster, "pkill -9 -f '[g]odwit agent' || true")
		}})
	}
	for _, j := range jobs[:2] {
		list = append(list, target{"what holds cores in " + j.cluster, func(b *bed) {
			b.eachHost(j.cluster, "pkill -9 -f '[/]holder-' || true")
		}}, target{"the manager of " + j.cluster, func(b *bed) { b.do("restart", j.cluster) }})
	}
	return append(list, target{"the outposts", func(b *bed) {
		for _, j := range jobs {
			b.eachHost(j.cluster, "pkill -9 -f '[g]odwit outpost' || true")
		}
	}})
}

// eachHost runs a command on each host of a cluster, the one from which jobs are submitted too.
func (b *bed) eachHost(cluster, command string) {
	c, err := b.lab.FindCluster(cluster)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, h := range c.AllHosts() {
		b.on(h.Name, command)
	}
}

// agree waits until each job runs, and its program, the broker and the manager say the same of its size.
func (b *bed) agree(jobs []*sizedJob, when string) {
	b.t.Helper()
	seen := map[string]string{}
	defer func() {
		if b.t.Failed() {
			b.t.Logf("%s: %v", when, seen)
		}
	}()
	for _, j := range jobs {
		b.until("all to agree in "+j.cluster+" "+when, func() bool {
			state, procs := b.sizeOf(j.id)
			noted := -1
			if text, err := os.ReadFile(j.note); err == nil {
				if n, err := strconv.Atoi(string(text)); err == nil {
					noted = n
				}
			}
			held := procs
			if j.cluster != "east" {
				held = b.held(j.cluster)
			}
			seen[j.cluster] = fmt.Sprintf("%s, the broker says %d, the program %d, the manager %d", state, procs, noted, held)
			if b.t.Failed() || state == "DONE" || state == "FAILED" || state == "CANCELLED" {
				b.t.Fatalf("%s %s: %s\n%s", j.cluster, when, seen[j.cluster], b.told(j.id))
			}
			return state == "RUNNING" && procs == noted && procs == held
		})
	}
}

// sizeOf is the state of a job and how many cores the broker says that it has; 0 while the broker does not answer.
func (b *bed) sizeOf(id string) (state string, procs int) {
	out, err := b.try("show", id, "-o", "json")
	if err != nil {
		return "", 0
	}
	var s struct {
		State string `json:"state"`
		Procs int    `json:"procs"`
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		b.t.Fatal(err)
	}
	return s.State, s.Procs
}
