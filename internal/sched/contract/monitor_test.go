package contract

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

var update = flag.Bool("update", false, "rewrite the transcript in testdata")

// TestTranscript plays what stands above each line of dashes: "contract RULE", ratios as "1 1 4*10", "refused".
func TestTranscript(t *testing.T) {
	const file = "testdata/monitor.txt"
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var is strings.Builder
	var m *Monitor
	for _, block := range strings.Split(strings.TrimSpace(string(was)), "\n\n") {
		script, _, _ := strings.Cut(block, "\n----")
		is.WriteString(script + "\n----\n")
		for _, line := range strings.Split(script, "\n") {
			if strings.HasPrefix(line, "#") {
				continue
			}
			m = playLine(t, m, line, &is)
		}
		is.WriteString("\n")
	}
	text := strings.TrimSpace(is.String()) + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if text != string(was) {
		t.Errorf("%s tells otherwise now:\n%s", file, text)
	}
}

// part is that of the work which each phase of the transcript does.
const part = 0.01

func playLine(t *testing.T, m *Monitor, line string, b *strings.Builder) *Monitor {
	words := strings.Fields(line)
	switch words[0] {
	case "contract":
		c := &core.Contract{Rule: words[1]}
		m, err := New(c, 1000, 0)
		if err != nil {
			t.Fatal(err)
		}
		return m
	case "refused":
		m.Refused()
		_, upper := m.Limits()
		fmt.Fprintf(b, "  the upper limit is %.3f\n", upper)
		return m
	}
	for _, word := range words {
		text, times, many := strings.Cut(word, "*")
		ratio, err := strconv.ParseFloat(text, 64)
		n := 1
		if many {
			n, _ = strconv.Atoi(times)
		}
		if err != nil || n < 1 {
			t.Fatalf("%q is no ratio", word)
		}
		for range n {
			if found := m.Observe(m.Done()+part, ratio*m.Promise()*part); found != Kept {
				lower, upper := m.Limits()
				fmt.Fprintf(b, "  %v at %.2f: ratio %.2f, average %.3f; limits %.3f to %.3f; %.0f s left\n", found, m.Done(), m.Last(),
					m.Average(), lower, upper, m.Left())
			}
		}
	}
	return m
}

func TestTheRatiosAreThinnedAndTheirMeanStays(t *testing.T) {
	m, err := New(&core.Contract{Upper: 1000}, 1e6, 0)
	if err != nil {
		t.Fatal(err)
	}
	const phases = 5000
	for i := range phases {
		m.Observe(float64(i+1)/phases, 1e6/phases*(1+float64(i%7)))
	}
	points := m.Points()
	if len(points) < maxPoints/2 || len(points) > maxPoints {
		t.Fatalf("%d points are kept", len(points))
	}
	mean := 0.0
	for i, p := range points {
		mean += p.Ratio / float64(len(points))
		if i > 0 && p.Done <= points[i-1].Done {
			t.Fatalf("point %d comes after %g, at %g", i, points[i-1].Done, p.Done)
		}
	}
	if math.Abs(mean-m.Average()) > 0.05 || points[len(points)-1].Done != 1 {
		t.Errorf("the mean of the points is %g, of all ratios %g; the last is of %g", mean, m.Average(),
			points[len(points)-1].Done)
	}
}

func TestWhatIsLeftFollowsTheHostsAndNotTheAverage(t *testing.T) {
	m, err := New(&core.Contract{}, 1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		m.Observe(float64(i+1)/100, 11) // a model that is 10 % off
	}
	m.Observe(0.51, 50) // the load comes within this phase
	for i := range 3 {
		m.Observe(0.52+float64(i)/100, 110)
	}
	if left := m.Left(); math.Abs(left-1000*11*(1-m.Done())) > 1e-6 {
		t.Errorf("%g s are left", left)
	}
	if bias := m.Bias(); math.Abs(bias-1.1) > 1e-9 {
		t.Errorf("the promise was wrong by %g", bias)
	}
	if spread, phases := m.Evidence(); spread > 1e-6 || phases != 50 {
		t.Errorf("%d phases were off by %g", phases, spread)
	}
}

func TestAProgramThatKeepsItsContractSaysHowWellPredictionsHold(t *testing.T) {
	m, err := New(&core.Contract{}, 1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		m.Observe(float64(i+1)/100, 12)
	}
	if spread, phases := m.Evidence(); spread > 1e-6 || phases != 20 || math.Abs(m.Bias()-1.2) > 1e-9 {
		t.Errorf("%d phases are off by %g, bias %g", phases, spread, m.Bias())
	}
	slow, err := New(&core.Contract{}, 1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		slow.Observe(float64(i+1)/100, 40)
	}
	if _, phases := slow.Evidence(); phases != 0 || slow.Bias() != 1 {
		t.Errorf("slow from the beginning it says %d phases, bias %g", phases, slow.Bias())
	}
}

func TestNoSequenceOfRatiosBreaksAMonitor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom(RuleNames()).Draw(t, "rule")
		m, err := New(&core.Contract{Rule: rule}, rapid.Float64Range(1, 1e6).Draw(t, "promise"),
			rapid.Float64Range(0, 0.5).Draw(t, "done"))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 100).Draw(t, "phases") {
			_, before := m.Limits()
			found := m.Observe(rapid.Float64Range(-0.1, 1.1).Draw(t, "done"), rapid.Float64Range(-1, 1e4).Draw(t, "seconds"))
			lower, upper := m.Limits()
			switch {
			case !(lower > 0 && lower < upper) || !(m.Left() >= 0) || !(m.Bias() > 0):
				t.Fatalf("limits %g and %g, %g s left, bias %g", lower, upper, m.Left(), m.Bias())
			case found == Violated:
				if m.Refused(); m.upper < before {
					t.Fatalf("refused, the limit goes from %g to %g", before, m.upper)
				}
			case found == Lowered && upper >= before:
				t.Fatalf("faster than promised, the upper limit goes from %g to %g", before, upper)
			}
		}
	})
}

func TestWhatIsNoContractIsRefused(t *testing.T) {
	for _, c := range []struct {
		contract core.Contract
		promise  float64
		done     float64
	}{
		{core.Contract{Rule: "guess"}, 100, 0}, {core.Contract{}, 0, 0}, {core.Contract{}, math.NaN(), 0},
		{core.Contract{}, math.Inf(1), 0}, {core.Contract{Lower: 3}, 100, 0}, {core.Contract{}, 100, 2},
	} {
		if _, err := New(&c.contract, c.promise, c.done); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
