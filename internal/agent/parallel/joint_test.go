package parallel

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// twoContacts are two parts of one program, on hosts of which one has the same name in both clusters.
func twoContacts(meet *rendezvous.Rendezvous) []wire.Contact {
	return []wire.Contact{
		{Part: 0, Cluster: "north", Hosts: []string{"n1", "node2"}, Slots: []int{2, 1}, Ranks: 3, Meet: meet},
		{Part: 1, Cluster: "south", Hosts: []string{"s1", "node2"}, Slots: []int{1, 4}, Ranks: 5, First: 3, Meet: meet}}
}

func TestMpirunOfTheFirstPartIsToldOfAllHosts(t *testing.T) {
	dir := t.TempDir()
	f := JointFiles{Hosts: filepath.Join(dir, "hosts"), Peers: filepath.Join(dir, "peers"),
		Lost: filepath.Join(dir, "lost")}
	where := &rendezvous.Rendezvous{Addresses: []string{"192.0.2.1:1"}, Token: "secret"}
	a := &wire.Attempt{Parts: 2, Procs: 3, Spec: jobfile.Job{MPI: true}, MPI: wire.MPI{Network: "10.0.0.0/24"}}
	set, err := JointVariables(a, twoContacts(where), f)
	if err != nil {
		t.Fatal(err)
	}
	if within := MPIVariables(a, filepath.Join(dir, "own"), f.Lost, nil); within["OMPI_MCA_btl_tcp_if_include"] != "" {
		t.Error("the network within its cluster is to lead to the others")
	}
	text, err := os.ReadFile(f.Hosts)
	want := hostName() + " slots=2\nnode2 slots=1\ns1 slots=1\nnode2-part1 slots=4\n"
	if err != nil || string(text) != want {
		t.Errorf("the file of hosts says %q, %v; want %q", text, err, want)
	}
	if info, err := os.Stat(f.Peers); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read where the parts are: %v, %v", info, err)
	}
	for name, value := range set {
		if strings.Contains(value, "secret") {
			t.Errorf("a secret is in the variable %s", name)
		}
	}
	if set["OMPI_MCA_plm"] != "rsh" || set["OMPI_MCA_btl"] != "tcp,self" || set["PWD"] != "/proc/self/cwd" {
		t.Errorf("it is told %v", set)
	}
	t.Setenv(peersVariable, f.Peers)
	peers, err := readPeers()
	if err != nil || len(peers) != 1 {
		t.Fatalf("%+v, %v", peers, err)
	}
	for name, own := range map[string]string{"s1": "s1", "node2-part1": "node2", "node2": "", "n1": ""} {
		if p, host := findPeer(peers, name); host != own || (p != nil) != (own != "") {
			t.Errorf("%s is %s of %+v", name, host, p)
		}
	}
}

func TestRanksOfPartsOnDifferentMachinesTalkThroughMemoryToo(t *testing.T) {
	all := []wire.Contact{{Hosts: []string{"a", "b"}}, {Hosts: []string{"c"}}}
	if got := jointTransports(all); got != "tcp,self,vader" {
		t.Error(got)
	}
}

func TestSlotsAreThoseOfTheHosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pe")
	if err := os.WriteFile(file, []byte("g1 3 all.q@g1 UNDEFINED\ng2 1 all.q@g2 UNDEFINED\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, nodes, pe string
		hosts           []wire.Host
		want            []int
	}{
		{"one host", "", "", nil, []int{5}},
		{"ours", "", "", []wire.Host{{Name: "a", Procs: 4}, {Name: "b", Procs: 1}}, []int{4, 1}},
		{"Slurm's", "n[1-2]", "", nil, []int{3, 2}},
		{"Grid Engine's", "", file, nil, []int{3, 1}},
	} {
		t.Setenv("SLURM_JOB_NODELIST", c.nodes)
		t.Setenv("PE_HOSTFILE", c.pe)
		if got := HostSlots(&wire.Attempt{Procs: 5, Hosts: c.hosts}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAHostOfTheSamePartIsReachedAsItsManagerHasIt(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"", "ssh"}, {"SLURM_JOB_ID", "ssh"}, {"GODWIT_PARTS", "ssh"}, {"GODWIT_PARTS SLURM_JOB_ID", "srun"},
		{"GODWIT_PARTS PE_HOSTFILE", "qrsh"}} {
		words := remoteCommand("h2", "exec x", func(name string) string {
			if slices.Contains(strings.Fields(c.env), name) {
				return "1"
			}
			return ""
		})
		if words[0] != c.want || words[len(words)-1] != "exec x" || !strings.Contains(strings.Join(words, " "), "h2") {
			t.Errorf("%s: %q", c.env, words)
		}
	}
}

// What a launcher says of where it is holds on the other host, whatever PWD is.
func TestACommandForAnotherHostOfThePartBeginsInTheSameFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's here")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("PWD", "/proc/self/cwd")
	if got, err := startHere("x"); err != nil || got != "x" {
		t.Errorf("for a job of one part: %s, %v", got, err)
	}
	t.Setenv("GODWIT_PARTS", "2")
	line, err := startHere("pwd -P")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != dir+"\n" {
		t.Errorf("%s: %q, %v", line, out, err)
	}
}

// otherPart is a rank server of part 1, and what a launcher of part 0 needs to reach it.
type otherPart struct {
	t      *testing.T
	server *exec.Cmd
	env    []string // of part 0
	lost   string   // noted by the launcher
	said   *bytes.Buffer
}

const otherMark = "gw-test-other-part"

func startOther(t *testing.T) *otherPart {
	t.Helper()
	o := &otherPart{t: t, lost: filepath.Join(t.TempDir(), "lost"), said: new(bytes.Buffer)}
	m, err := OpenMeeting(t.Context(), &wire.Attempt{Part: 1, Parts: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	o.server = o.command("GODWIT_PART=1 GODWIT_PART_1_HOSTS=s1 GODWIT_PART_0_HOSTS=n1 GODWIT_ATTEMPT="+otherMark,
		ServeCommand, m.Socket())
	o.server.Dir = t.TempDir()
	o.server.Stderr = o.said
	if err := o.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = o.server.Process.Kill()
		_, _ = proctree.KillLeftovers(context.Background(), otherMark)
	})
	all := []wire.Contact{{Part: 0, Hosts: []string{"n1"}},
		{Part: 1, Cluster: "south", Hosts: []string{"s1"}, Meet: m.Where()}}
	f := JointFiles{Hosts: filepath.Join(t.TempDir(), "hosts"), Peers: filepath.Join(t.TempDir(), "peers"), Lost: o.lost}
	if _, err := JointVariables(&wire.Attempt{Parts: 2}, all, f); err != nil {
		t.Fatal(err)
	}
	o.env = []string{peersVariable + "=" + f.Peers, LostVariable + "=" + f.Lost, "GODWIT_PARTS=2"}
	return o
}

func (o *otherPart) command(env string, words ...string) *exec.Cmd {
	o.t.Helper()
	self, err := os.Executable()
	if err != nil {
		o.t.Fatal(err)
	}
	cmd := exec.Command(self, words...)
	cmd.Env = append(append(os.Environ(), o.env...), strings.Fields(env)...)
	return cmd
}

// Everything of it: the program of part 0 starts something in part 1 twice, which runs there, and both parts end.
func TestALeaderHasThingsRunInTheOtherPart(t *testing.T) {
	o := startOther(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := "echo $GODWIT_ATTEMPT in $(pwd); echo complains >&2; exit 7"
	lead := o.command("", LeadCommand, "/bin/sh", "-c",
		fmt.Sprintf("%s launch s1 '%s'; echo $?; %s launch s1 'kill -9 $$'; echo $?; exit 5", self, line, self))
	var complaints bytes.Buffer
	lead.Stderr = &complaints
	out, err := lead.Output()
	if lead.ProcessState.ExitCode() != 5 {
		t.Errorf("the leader ends with %v, %s", err, &complaints)
	}
	if want := otherMark + " in " + o.server.Dir + "\n7\n137\n"; string(out) != want {
		t.Errorf("it wrote %q, want %q", out, want)
	}
	if !strings.Contains(complaints.String(), "complains\n") {
		t.Errorf("complaints: %q", &complaints)
	}
	if err := o.server.Wait(); err != nil {
		t.Errorf("the rank server ends with %v: %s", err, o.said)
	}
}

// A leader that dies takes with it what it had run in the other part.
func TestWhatRunsInTheOtherPartEndsWithTheLeader(t *testing.T) {
	o := startOther(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(t.TempDir(), "here")
	lead := o.command("", LeadCommand, self, "launch", "s1",
		"echo $$ > "+here+".new; mv "+here+".new "+here+"; exec sleep 600")
	if err := lead.Start(); err != nil {
		t.Fatal(err)
	}
	wait := clocktest.PollLoop{Limit: time.Minute, Pause: 10 * time.Millisecond}
	wait.WaitFor(t, "it to run", func() bool { _, err := os.Stat(here); return err == nil })
	if err := lead.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = lead.Wait() // it was killed
	if err := o.server.Wait(); err == nil {
		t.Error("the rank server takes that for the end of the program")
	}
	text, err := os.ReadFile(here)
	if err != nil {
		t.Fatal(err)
	}
	wait.WaitFor(t, "the program to end", func() bool {
		_, err := os.Stat("/proc/" + strings.TrimSpace(string(text)))
		return err != nil
	})
}

func TestALauncherNotesThatItLostTheOtherPart(t *testing.T) {
	o := startOther(t)
	here := filepath.Join(t.TempDir(), "here")
	launch := o.command("", "launch", "s1", ": > "+here+"; exec sleep 600")
	if err := launch.Start(); err != nil {
		t.Fatal(err)
	}
	clocktest.PollLoop{Limit: time.Minute, Pause: 10 * time.Millisecond}.WaitFor(t, "it to run",
		func() bool { _, err := os.Stat(here); return err == nil })
	if err := o.server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := launch.Wait(); err == nil {
		t.Error("the launcher ends as if all were well")
	}
	if host, err := os.ReadFile(o.lost); err != nil || string(host) != "s1" {
		t.Errorf("it noted %q, %v", host, err)
	}
}

// An mpirun that gives up leaves launchers behind, which the rank servers part with when the leader ends.
func TestALauncherWhoseParentIsGoneHasLostNobody(t *testing.T) {
	o := startOther(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(t.TempDir(), "here")
	lead := o.command("", LeadCommand, "/bin/sh", "-c", fmt.Sprintf(
		"%s launch s1 ': > %s; exec sleep 600' & while [ ! -e %[2]s ]; do sleep 0.01; done; exit 5", self, here))
	if _, err := lead.Output(); lead.ProcessState.ExitCode() != 5 { // which the launcher has as well
		t.Errorf("the leader ends with %v", err)
	}
	if err := o.server.Wait(); err != nil {
		t.Errorf("the rank server ends with %v: %s", err, o.said)
	}
	if host, err := os.ReadFile(o.lost); err == nil {
		t.Errorf("it is noted that %s was lost", host)
	}
}

func TestAHostThatIsNotOfThePartIsRefused(t *testing.T) {
	t.Setenv("GODWIT_PART", "1")
	t.Setenv("GODWIT_PART_1_HOSTS", "s1 s2")
	for host, want := range map[string]string{"s1": "limb", "s2": "launch", "elsewhere": ""} {
		cmd, isRunner, err := lineCommand(&rankRequest{Host: host, Line: "x"})
		if want == "" {
			if err == nil {
				t.Errorf("%s is accepted", host)
			}
			continue
		}
		if err != nil || cmd.Args[1] != want || isRunner != (want == "limb") {
			t.Errorf("%s: %v, %v", host, cmd, err)
		}
	}
}

func TestPartsFindOutWhomTheyDoNotReach(t *testing.T) {
	m, err := OpenMeeting(t.Context(), &wire.Attempt{Part: 0, Parts: 3})
	if err != nil {
		t.Fatal(err)
	}
	all := []wire.Contact{{Part: 0, Cluster: "a", Hosts: []string{"a1"}, Meet: m.Where()}, {Part: 1, Cluster: "b"},
		{Part: 2, Cluster: "c", Hosts: []string{"c1"}, Meet: m.Where()}}
	if err := ReachParts(t.Context(), 1, all); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	apart := new(UnreachableError)
	if err := ReachParts(t.Context(), 0, all); !errors.As(err, &apart) || apart.Part != 2 ||
		!strings.Contains(err.Error(), "part 2 in c (c1) cannot be reached from "+hostName()) {
		t.Errorf("%v", err)
	}
}

// FuzzRankRequest: whatever a stranger says, it is refused or is a whole request, and nothing after it is read.
func FuzzRankRequest(f *testing.F) {
	f.Add([]byte(`{"session":true}`+"\nend\n"), "rest")
	f.Add([]byte(`{"host":"h1","line":"orted -x","yield":true}`+"\n"), "...")
	f.Add([]byte("{}\n"), "")
	f.Add([]byte(`{"host":"$(id)","line":"x"}`+"\n"), "")
	f.Fuzz(func(t *testing.T, text []byte, rest string) {
		r := strings.NewReader(string(text) + rest)
		q, err := readRequest(r)
		if err != nil {
			return
		}
		if q.Session == (q.Line != "") || q.Line != "" && !wire.IsHostName(q.Host) {
			t.Errorf("%+v", q)
		}
		var again bytes.Buffer
		if err := q.writeTo(&again); err != nil {
			t.Fatal(err)
		}
		if back, err := readRequest(&again); err != nil || *back != *q {
			t.Errorf("%+v is read back as %+v, %v", q, back, err)
		}
	})
}

// FuzzFrames: whatever comes back, reading it does no harm.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("o\x00\x00\x00\x02hie\x00\x00\x00\x01!x\x00\x00\x00\x04\x00\x00\x00\x07"))
	f.Add([]byte("x\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out, errs bytes.Buffer
		if _, err := readFrames(bytes.NewReader(text), &out, &errs); err == nil && out.Len()+errs.Len() > len(text) {
			t.Error("more comes out than went in")
		}
	})
}

func TestWhatIsWrittenComesBackAsFrames(t *testing.T) {
	here, there := net.Pipe()
	var lock sync.Mutex
	long := strings.Repeat("x", 3*maxFrame+5)
	go func() {
		_, _ = io.WriteString(frameWriter{frameStdout, there, &lock}, long)
		_, _ = io.WriteString(frameWriter{frameStderr, there, &lock}, "complaint")
		_, _ = frameWriter{frameExit, there, &lock}.Write(binary.BigEndian.AppendUint32(nil, 1<<32-1))
	}()
	var out, errs bytes.Buffer
	code, err := readFrames(here, &out, &errs)
	if err != nil || code != -1 || out.String() != long || errs.String() != "complaint" {
		t.Errorf("%d, %v: %d bytes and %q", code, err, out.Len(), errs.String())
	}
}
