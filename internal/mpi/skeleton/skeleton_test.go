package skeleton_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/mpi/capture"
	"github.com/godwit-hpc/godwit/internal/mpi/capture/capturetest"
	"github.com/godwit-hpc/godwit/internal/mpi/mpirun"
	"github.com/godwit-hpc/godwit/internal/mpi/skeleton"
)

func TestASkeletonSaysTheSameLessOften(t *testing.T) {
	runner := filepath.Join(capturetest.MakeTargets(t, "capture"), "mpi/capture/built/skeleton")
	for _, c := range []struct {
		name string
		args []string
		part float64 // of the rounds that are left
	}{
		{"cg", []string{"2000", "24"}, 0.25},
		{"is", []string{"65536", "16"}, 0.25},
		{"lu", []string{"8", "12"}, 0.34},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, printed, code, err := capturetest.CaptureProgram(t, nil,
				append([]string{capturetest.ProgramPath(t, c.name)}, c.args...)...)
			if err != nil || code != 0 {
				t.Fatalf("exit code %d, %v\n%s", code, err, printed)
			}
			s, err := skeleton.New(p, c.part*p.Seconds)
			// How long what is in no loop took depends on who else used the machine.
			if err != nil || s.Why != "" && !strings.HasPrefix(s.Why, "one round of each loop") {
				t.Fatal(err, s)
			}
			again, printed, code, err := capturetest.CaptureProgram(t, strings.NewReader(s.EncodeText()), runner)
			if err != nil || code != 0 {
				t.Fatalf("exit code %d, %v\n%s", code, err, printed)
			}
			same(t, c.name, s.Pattern.TrafficMatrix(s.Programs), sum(again))
			proportional(t, c.part, sum(p), sum(again))
			if s.CallCount() > int64(0.6*float64(calls(t, p))) {
				t.Errorf("%d calls of %d", s.CallCount(), calls(t, p))
			}
		})
	}
}

func calls(t *testing.T, p *capture.Pattern) int64 {
	t.Helper()
	whole, err := skeleton.New(p, 2*p.Seconds)
	if err != nil || whole.Scale != 1 {
		t.Fatal(err)
	}
	return whole.CallCount()
}

// sum is messages and collective operations together: lists are sent as messages.
func sum(p *capture.Pattern) [][]int64 {
	m := make([][]int64, p.Nodes)
	for i := range m {
		for j := range p.Nodes {
			m[i] = append(m[i], p.Bytes[i][j]+p.Collective[i][j])
		}
	}
	return m
}

func same(t *testing.T, name string, want, got [][]int64) {
	t.Helper()
	if capturetest.MatrixLines(want) != capturetest.MatrixLines(got) {
		t.Errorf("the skeleton of %s sent\n%swant\n%s", name, capturetest.MatrixLines(got), capturetest.MatrixLines(want))
	}
}

// proportional: each pair has the same part of what it had, to a round of a loop.
func proportional(t *testing.T, part float64, whole, short [][]int64) {
	t.Helper()
	for i := range whole {
		for j := range whole[i] {
			if whole[i][j] == 0 && short[i][j] != 0 {
				t.Errorf("%d to %d: %d of nothing", i, j, short[i][j])
			}
			if got := float64(short[i][j]) / float64(max(whole[i][j], 1)); whole[i][j] > 0 && math.Abs(got-part) > 0.15 {
				t.Errorf("%d to %d: %.3f of what it was, want %.3f", i, j, got, part)
			}
		}
	}
}

func TestTheRunnerPredictsFromItsTime(t *testing.T) {
	runner := filepath.Join(capturetest.MakeTargets(t, "yield", "capture"), "mpi/capture/built/skeleton")
	p := pingPong(200)
	s, err := skeleton.New(p, p.Seconds/4)
	if err != nil || math.Abs(s.Scale-0.25) > 0.01 {
		t.Fatal(err, s)
	}
	at := skeleton.RunPlace{Runner: runner, Env: mpirun.RunEnvironment(os.Environ()), Limit: time.Minute}
	o, err := s.Run(context.Background(), at)
	if err != nil || len(o.Ranks) != 2 || o.Ranks[0].Computing <= 0 ||
		math.Abs(s.PredictProgram(o.Seconds)-4*o.Seconds) > 0.1*o.Seconds {
		t.Errorf("%+v, %v", o, err)
	}
	at.Hosts = []string{"only-one"}
	if _, err := s.Run(context.Background(), at); err == nil || !strings.Contains(err.Error(), "1 hosts for 2 ranks") {
		t.Error(err)
	}
	at.Hosts = []string{"-oProxyCommand=x", "b"}
	if _, err := s.Run(context.Background(), at); err == nil || !strings.Contains(err.Error(), "no name of a host") {
		t.Error(err)
	}
}

func TestARunThatTakesTooLongIsEnded(t *testing.T) {
	runner := filepath.Join(capturetest.MakeTargets(t, "capture"), "mpi/capture/built/skeleton")
	p := pingPong(1)
	p.Ranks[0].Calls[0].Body[0].Compute = 600
	s, err := skeleton.New(p, p.Seconds)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(context.Background(),
		skeleton.RunPlace{Runner: runner, Env: mpirun.RunEnvironment(os.Environ()), Limit: 2 * time.Second})
	if err == nil || !strings.Contains(err.Error(), "not done after 2s") {
		t.Error(err)
	}
}

// compiled is the path of a program of testdata.
func compiled(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("mpicc", "-O1", "-Wall", "-Wextra", "-o", path,
		filepath.Join("testdata", name+".c")).CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	return path
}

func TestOperationsWithListsThatAreBegunDoNotWait(t *testing.T) {
	runner := filepath.Join(capturetest.MakeTargets(t, "yield", "capture"), "mpi/capture/built/skeleton")
	p, printed, code, err := capturetest.CaptureProgram(t, nil, compiled(t, "late"))
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, printed)
	}
	s, err := skeleton.New(p, 2*p.Seconds)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(),
		skeleton.RunPlace{Runner: runner, Env: mpirun.RunEnvironment(os.Environ()), Limit: time.Minute}); err != nil {
		t.Fatal(err)
	}
	again, printed, code, err := capturetest.CaptureProgram(t, strings.NewReader(s.EncodeText()), runner)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, printed)
	}
	// Who gathers for all says to whom in another way, but as much.
	for r, row := range sum(again) {
		if got, want := total(row), total(sum(p)[r]); got != want || want == 0 {
			t.Errorf("rank %d sent %d bytes, want %d", r, got, want)
		}
	}
}

func TestMessagesMayBeLongerThanAnIntCounts(t *testing.T) {
	runner := filepath.Join(capturetest.MakeTargets(t, "capture"), "mpi/capture/built/skeleton")
	p, printed, code, err := capturetest.CaptureProgram(t, nil, compiled(t, "long"))
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, printed)
	}
	const long = 8 * 300_000_000
	if p.Bytes[0][1] != long || p.Collective[1][0] != long {
		t.Errorf("messages\n%scollective operations\n%s", capturetest.MatrixLines(p.Bytes),
			capturetest.MatrixLines(p.Collective))
	}
	text, err := p.EncodeText()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = capture.Parse("long.pattern", text); err != nil {
		t.Fatal(err)
	}
	s, err := skeleton.New(p, 2*p.Seconds)
	if err != nil {
		t.Fatal(err)
	}
	again, printed, code, err := capturetest.CaptureProgram(t, strings.NewReader(s.EncodeText()), runner)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, printed)
	}
	same(t, "long", sum(p), sum(again))
}

func TestSumsThatMPICannotMakeAreRefused(t *testing.T) {
	p := pingPong(10)
	for r := range p.Ranks {
		p.Ranks[r].Calls = []capture.Node{{Call: "allreduce", Peer: capture.Nobody, From: capture.Nobody,
			Slot: capture.NoSlot, Bytes: 1 << 40, Inside: 1}}
	}
	if _, err := skeleton.New(p, 1); err == nil || !strings.Contains(err.Error(), "a allreduce of 1099511627776 bytes") {
		t.Error(err)
	}
}

func TestMessagesThatWereAskedForAreReceivedWhereTheyCame(t *testing.T) {
	runner := filepath.Join(capturetest.MakeTargets(t, "capture"), "mpi/capture/built/skeleton")
	p, printed, code, err := capturetest.CaptureProgram(t, nil, compiled(t, "probed"))
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, printed)
	}
	s, err := skeleton.New(p, 2*p.Seconds)
	if err != nil {
		t.Fatal(err)
	}
	again, printed, code, err := capturetest.CaptureProgram(t, strings.NewReader(s.EncodeText()), runner)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, printed)
	}
	same(t, "probed", sum(p), sum(again))
}

func total(row []int64) int64 {
	n := int64(0)
	for _, x := range row {
		n += x
	}
	return n
}

// pingPong is a pattern of two ranks.
func pingPong(rounds int64) *capture.Pattern {
	call := func(kind string, peer int) capture.Node {
		return capture.Node{Call: kind, Peer: peer, From: capture.Nobody, Slot: capture.NoSlot, Bytes: 100, Compute: 1e-4,
			Gap: 1e-4, Inside: 1e-4}
	}
	m := func() [][]int64 { return [][]int64{{0, 0}, {0, 0}} }
	return &capture.Pattern{Format: capture.Format, Program: "pingpong", Nodes: 2, Seconds: float64(rounds) * 4e-4,
		Bytes: m(), Messages: m(), Collective: m(), Groups: [][]int{{0, 1}}, Ranks: []capture.Rank{
			{Spin: 5e8, Calls: []capture.Node{{Rounds: rounds, Body: []capture.Node{call("send", 1), call("recv", 1)}}}},
			{Spin: 5e8, Calls: []capture.Node{{Rounds: rounds, Body: []capture.Node{call("recv", 0), call("send", 0)}}}},
		}}
}

// Programs whose ranks see the same loop from different places: some with the first or
// last round apart, some with two rounds as one.
func TestWhateverIsLeftOutEveryMessageIsReceived(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		ranks, rounds := 2+r.IntN(5), 4+2*r.IntN(40)
		p := ring(r, ranks, rounds)
		s, err := skeleton.New(p, p.Seconds*(0.02+0.9*r.Float64()))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if strings.Contains(s.Why, "told apart") || s.Scale > 1 || s.Scale <= 0 {
			t.Errorf("seed %d: %d ranks, %d rounds: scale %v, %s", seed, ranks, rounds, s.Scale, s.Why)
		}
	}
}

// ring is ranks that send round a ring and meet now and then.
func ring(r *rand.Rand, ranks, rounds int) *capture.Pattern {
	p := &capture.Pattern{Format: capture.Format, Nodes: ranks, Groups: [][]int{{}}}
	inner := 1 + r.IntN(5)
	for rank := range ranks {
		p.Groups[0] = append(p.Groups[0], rank)
		next, before := (rank+1)%ranks, (rank+ranks-1)%ranks
		node := func(kind string, peer int) capture.Node {
			return capture.Node{Call: kind, Peer: peer, From: capture.Nobody, Slot: capture.NoSlot, Bytes: 8, Compute: 1e-3,
				Gap: 1e-3, Inside: 1e-3}
		}
		pair := []capture.Node{node("send", next), node("recv", before)}
		round := append([]capture.Node{{Rounds: int64(inner), Body: pair}}, node("barrier", capture.Nobody))
		if inner == 1 {
			round = append(pair, node("barrier", capture.Nobody))
		}
		var calls []capture.Node
		switch n := int64(rounds); r.IntN(4) {
		case 0:
			calls = []capture.Node{{Rounds: n, Body: round}}
		case 1: // the first round is apart
			calls = append(append(calls, round...), capture.Node{Rounds: n - 1, Body: round})
		case 2: // and so is half of the last
			calls = append(append(calls, round[:len(round)-1]...),
				capture.Node{Rounds: n - 1, Body: append([]capture.Node{round[len(round)-1]}, round[:len(round)-1]...)})
			calls = append(calls, round[len(round)-1])
		case 3: // two are one
			calls = []capture.Node{{Rounds: n / 2, Body: append(append([]capture.Node{}, round...), round...)}}
		}
		p.Ranks = append(p.Ranks, capture.Rank{Spin: 1e9, Calls: calls})
		p.Seconds = capture.CapturedTime(calls)
	}
	return p
}

func TestWhatCannotBeDoneAgainIsRefused(t *testing.T) {
	p := pingPong(10)
	p.Ranks[1].Calls[0].Rounds = 9
	if _, err := skeleton.New(p, 1); err == nil || !strings.Contains(err.Error(), "rank 0 would wait for ever in a recv") {
		t.Error(err)
	}
	p = pingPong(10)
	p.Ranks[1].Calls[0].Body[0].Call = "barrier"
	if _, err := skeleton.New(p, 1); err == nil {
		t.Error("a barrier of one rank is accepted")
	}
}
