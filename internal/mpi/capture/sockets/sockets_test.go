package sockets

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// role is the variable that makes this program one that talks: "listen", or the address
// where somebody does.
const role = "GODWIT_TEST_TALKS"

func TestMain(m *testing.M) {
	if at := os.Getenv(role); at != "" {
		if err := talk(at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// talk connects, and sends and reads as many bytes as its input says.
func talk(at string) error {
	c, err := meet(at)
	if err != nil {
		return err
	}
	fmt.Println("connected")
	for {
		var what string
		var n int64
		if _, err := fmt.Scanln(&what, &n); err != nil {
			return c.Close()
		}
		if what == "send" {
			_, err = c.Write(make([]byte, n))
		} else {
			_, err = io.CopyN(io.Discard, c, n)
		}
		if err != nil {
			return err
		}
		fmt.Println("done")
	}
}

func meet(at string) (net.Conn, error) {
	if at != "listen" {
		return net.Dial("tcp", at)
	}
	l, err := net.Listen("tcp", ":0") // of both families, where there are two
	if err != nil {
		return nil, err
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	return l.Accept()
}

// talker is a process that does as it is told.
type talker struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, as string, argv ...string) *talker {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return &talker{t, cmd, in, bufio.NewScanner(out)}
}

func (k *talker) says() string {
	k.t.Helper()
	if !k.out.Scan() {
		k.t.Fatal("it ended", k.out.Err())
	}
	return k.out.Text()
}

// tell has one send to the other, and waits until it has arrived.
func tell(from, to *talker, n int) {
	fmt.Fprintln(from.in, "send", n)
	fmt.Fprintln(to.in, "read", n)
	from.says()
	to.says()
}

func TestWhatProcessesSayToEachOtherIsCounted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := newWatcher(clock.RealClock(), os.Getpid())
	defer w.ends.closeListener()
	a := start(t, "listen", self)
	// The other is a child of a child.
	b := start(t, "127.0.0.1:"+a.says(), "sh", "-c", `"$0"; exit 0`, self)
	a.says()
	b.says()
	look := func() {
		t.Helper()
		if w.lookOnce(); w.err != nil {
			t.Fatal(w.err)
		}
	}
	look()
	tell(a, b, 500_000)
	tell(b, a, 3_000_000)
	look()
	want(t, w, a.cmd.Process.Pid, 500_000, 3_000_000)

	// What is said after the last look is told by the kernel when the connection ends.
	tell(a, b, 7)
	tell(b, a, 777)
	for _, k := range []*talker{a, b} {
		_ = k.in.Close()
		if err := k.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	w.pauseUntil(time.Minute, w.allEnded)
	want(t, w, a.cmd.Process.Pid, 500_007, 3_000_777)
}

// want is what the process with a number said, and what the other one said.
func want(t *testing.T, w *Watcher, pid int, said, heard int64) {
	t.Helper()
	got := sumTraffic(w.order)
	if len(w.order) != 2 || len(got.Names) != 2 || len(got.Others) != 0 || got.Names[0] == got.Names[1] {
		t.Fatalf("%d ends of connections, %+v", len(w.order), got)
	}
	one, other := 0, 1
	if w.order[0].owner.pid != pid {
		one, other = 1, 0
	}
	if w.order[one].owner.pid != pid || got.Bytes[one][other] != said || got.Bytes[other][one] != heard || got.Bytes[0][0]+
		got.Bytes[1][1] != 0 {
		t.Errorf("%v, want %d from %d and %d from %d", got.Bytes, said, one, heard, other)
	}
}

func TestConnectionsCountForTheProcessesAtTheirEnds(t *testing.T) {
	a, b, c := &process{pid: 1, name: "worker"}, &process{pid: 2, name: "worker"}, &process{pid: 3, name: "silent"}
	end := func(owner *process, local, remote string, sent, received uint64, ended bool) *connection {
		return &connection{socket{local: netip.MustParseAddrPort(local), remote: netip.MustParseAddrPort(remote), sent: sent,
			received: received}, owner, ended}
	}
	got := sumTraffic([]*connection{
		end(a, "127.0.0.1:10", "127.0.0.1:20", 100, 31, true), // the last one is the end itself
		end(b, "127.0.0.1:20", "127.0.0.1:10", 30, 101, true),
		end(a, "127.0.0.1:11", "127.0.0.1:20", 5, 0, false), // seen sooner than the other
		end(b, "127.0.0.1:20", "127.0.0.1:11", 0, 9, false),
		end(b, "10.0.0.1:40", "10.0.0.7:80", 1, 2, true),
		end(b, "10.0.0.1:41", "10.0.0.7:80", 10, 20, true),
		end(c, "127.0.0.1:12", "127.0.0.1:99", 0, 0, false),
	})
	want := &Traffic{Names: []string{"worker-1", "worker-2"}, Bytes: [][]int64{{0, 109}, {30, 0}},
		Others: []RemotePeer{{1, "10.0.0.7", 11, 22}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func FuzzSocket(f *testing.F) {
	f.Add(make([]byte, messageBytes))
	f.Add(append(make([]byte, messageBytes), 4, 0, 2, 0, 9, 9))
	f.Add(append(make([]byte, messageBytes), 0, 0, 2, 0))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if s, err := parseSocket(data); err == nil && (!s.local.Addr().IsValid() || !s.remote.Addr().IsValid()) {
			panic("a socket without an address")
		}
	})
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if name, start, ok := parseStat(data); ok &&
			(strings.ContainsAny(start, " )") || !strings.Contains(string(data), "("+name+")")) {
			t.Fatalf("%q begins at %q", name, start)
		}
	})
}

func TestAProcessIsKnownByItsNameAndStart(t *testing.T) {
	if name, start, ok := parseStat([]byte("7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9")); name != "a ) b" || start != "4242" || !ok {
		t.Errorf("%q began at %q: %v", name, start, ok)
	}
	p := process{pid: os.Getpid()}
	if !p.isAlive() || p.name == "" {
		t.Error("this process does not live")
	}
	p.start = "1"
	if p.isAlive() {
		t.Error("a process that began at another time is taken for it")
	}
}
