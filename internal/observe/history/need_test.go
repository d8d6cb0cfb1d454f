package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func done(program string, need float64, args ...string) Run {
	return Run{Program: program, Args: args, Need: need, Outcome: Finished, Method: "restart"}
}

// band checks that quantiles are in order and returns the 5, 50 and 95 per
// cent ones.
func band(t *testing.T, q []float64) (lo, mid, hi float64) {
	t.Helper()
	if len(q) != NLevels || !slices.IsSorted(q) || q[0] <= 0 || math.IsInf(q[12], 0) || math.IsNaN(q[6]) {
		t.Fatalf("quantiles %v", q)
	}
	return q[1], q[6], q[11]
}

func TestAProgramThatWasNeverRunIsUnknown(t *testing.T) {
	rows := []Run{done("pi", 100, "5"), {Program: "xto", Outcome: Failed, Need: 3},
		{Program: "xto", Outcome: Lost, CPU: 70}}
	if q, why, n := EstimateNeed(rows, "xto", nil); q != nil || n != 0 || why == "" {
		t.Errorf("a program that never finished needs %v, %q, %d", q, why, n)
	}
}

func TestRunsWithTheSameArgumentsCountAloneAndMoreOfThemNarrowTheBand(t *testing.T) {
	rows := []Run{done("pi", 5000, "9"), done("xto", 1)}
	width := math.Inf(1)
	for i := range 12 {
		rows = append(rows, done("pi", 100*math.Exp(0.03*float64(i%3-1)), "5"))
		q, why, n := EstimateNeed(rows, "pi", []string{"5"})
		lo, mid, hi := band(t, q)
		if n != i+1 || mid < 90 || mid > 110 || lo > 100 || hi < 100 || !strings.Contains(why, "same arguments") {
			t.Fatalf("%d runs of 100 s: %v, %s", n, q, why)
		}
		if now := hi / lo; i%3 == 2 {
			if now >= width {
				t.Errorf("with %d runs the band is %g wide, it was %g", n, now, width)
			}
			width = now
		}
	}
	if width > 1.25 {
		t.Errorf("after 12 runs within 3 %% the band is still %g wide", width)
	}
}

func TestANeedThatDriftsIsFollowed(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	var rows []Run
	off, held := 0.0, 0
	const runs = 200
	level := math.Log(100)
	for i := range runs {
		level += 0.03 * random.NormFloat64() // as a processor that others use as well
		next := math.Exp(level + 0.005*random.NormFloat64())
		if q, why, _ := EstimateNeed(rows, "pi", nil); i >= 20 {
			lo, mid, hi := band(t, q)
			off += math.Abs(math.Log(mid/next)) / (runs - 20)
			if next >= lo && next <= hi {
				held++
			}
			if i == runs-1 && !strings.Contains(why, "drifts") {
				t.Errorf("it is not said: %s", why)
			}
		}
		r := done("pi", next)
		r.Ended = core.Time(i + 1)
		rows = slices.Insert(rows, random.IntN(len(rows)+1), r) // whatever their order
	}
	if off > 0.04 {
		t.Errorf("what is expected of the next run is off by %.1f %%", 100*off)
	}
	if part := float64(held) / (runs - 20); part < 0.83 || part > 0.97 {
		t.Errorf("%.1f %% of the 90 %% bands hold", 100*part)
	}
}

func TestANeedThatOnlyVariesIsTheMeanOfAll(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 1))
	followed := 0
	const programs = 500
	for range programs {
		var rows []Run
		for range 12 {
			rows = append(rows, done("pi", 100*math.Exp(0.05*random.NormFloat64())))
		}
		if _, why, _ := EstimateNeed(rows, "pi", nil); strings.Contains(why, "drifts") {
			followed++
		}
	}
	if followed > programs/20 {
		t.Errorf("%d of %d programs are taken to drift", followed, programs)
	}
}

func TestTheTimeFollowsTheNumbersAmongTheArguments(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var rows []Run
	for _, n := range []float64{500, 800, 1000, 1500, 700} {
		rows = append(rows, done("pi.py", 2e-6*n*n*math.Exp(0.02*random.NormFloat64()), "--digits="+strconv.Itoa(int(n)),
			"7"))
	}
	for target, tolerance := range map[float64]float64{900: 0.1, 2000: 0.2, 8000: 0.5} {
		q, why, n := EstimateNeed(rows, "pi.py", []string{fmt.Sprintf("--digits=%g", target), "7"})
		lo, mid, hi := band(t, q)
		want := 2e-6 * target * target
		if n != 5 || math.Abs(math.Log(mid/want)) > tolerance || lo > want || hi < want ||
			!strings.Contains(why, "exponent") {
			t.Errorf("%g digits need %g to %g to %g s, want %g; %s", target, lo, mid, hi, want, why)
		}
	}
	near, _, _ := EstimateNeed(rows, "pi.py", []string{"--digits=1200", "7"})
	far, _, _ := EstimateNeed(rows, "pi.py", []string{"--digits=50000", "7"})
	if near[11]/near[1] >= far[11]/far[1] {
		t.Error("far beyond what was seen the estimate is as sure as amid it")
	}
}

func TestANumberThatDoesNotMatterIsFoundNotToMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 1))
	var rows []Run
	for i := range 8 {
		n, seed := float64(100*(1+i%4)), float64(1+random.IntN(10000))
		rows = append(rows, done("mc", n*math.Exp(0.01*random.NormFloat64()), fmt.Sprint(n), fmt.Sprint(seed)))
	}
	q, why, _ := EstimateNeed(rows, "mc", []string{"300", "77"})
	if lo, mid, hi := band(t, q); mid < 270 || mid > 330 || lo > 300 || hi < 300 {
		t.Errorf("%v, %s", q, why)
	}
}

func TestOtherArgumentsTellLittle(t *testing.T) {
	rows := []Run{done("xto", 100, "a.dat"), done("xto", 130, "b.dat")}
	q, why, n := EstimateNeed(rows, "xto", []string{"c.dat"})
	same, _, _ := EstimateNeed(rows, "xto", []string{"a.dat"})
	if lo, _, hi := band(t, q); n != 2 || hi/lo < 10 || hi/lo <= same[11]/same[1] ||
		!strings.Contains(why, "other arguments") {
		t.Errorf("%v, %s", q, why)
	}
	two := []Run{done("pi", 10, "5"), done("pi", 40, "10")} // two points make no line
	if _, why, _ := EstimateNeed(two, "pi", []string{"20"}); !strings.Contains(why, "other arguments") {
		t.Errorf("two numbers are enough for %q", why)
	}
	negative := []Run{done("f", 10, "-5"), done("f", 40, "0"), done("f", 40, "3"), done("f", 4, "1")}
	if q, _, n := EstimateNeed(negative, "f", []string{"2"}); n != 4 || len(q) != NLevels {
		t.Errorf("numbers without a logarithm give %v", q)
	}
}

// The bands are honest over programs that vary much and little, known from few
// runs and many.
func TestNinetyPerCentBandsHoldNinetyPerCentOfTheTime(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	var others []Run // what the grid's other programs are like
	sd := func() float64 { return 0.08 * math.Exp(0.6*random.NormFloat64()) }
	for p := range 20 {
		s := sd()
		for range 4 {
			others = append(others, done(fmt.Sprint("other", p), 50*math.Exp(s*random.NormFloat64())))
		}
	}
	for _, known := range []int{1, 2, 4, 10} {
		held := 0
		const trials = 1500
		for range trials {
			s, median := sd(), math.Exp(3+2*random.NormFloat64())
			rows := slices.Clone(others)
			for range known {
				rows = append(rows, done("pi", median*math.Exp(s*random.NormFloat64())))
			}
			q, _, _ := EstimateNeed(rows, "pi", nil)
			if next := median * math.Exp(s*random.NormFloat64()); next >= q[1] && next <= q[11] {
				held++
			}
		}
		if share := float64(held) / trials; share < 0.87 || share > 0.95 {
			t.Errorf("known from %d runs, 90 %% bands hold %.1f %% of the time", known, 100*share)
		} else {
			t.Logf("known from %d runs, 90 %% bands hold %.1f %% of the time", known, 100*share)
		}
	}
}

func TestWhatRanInTheSandboxIsCountedAsOutside(t *testing.T) {
	var rows []Run
	for i := range 4 {
		out, in := done("chatty", 100+float64(i), "1"), done("chatty", 300+float64(3*i), "1")
		in.Method = sandbox
		rows = append(rows, out, in)
	}
	cost, ok := SandboxCost(rows, "chatty")
	if !ok || cost.Ratio < 2.8 || cost.Ratio > 3.2 || cost.Upper < cost.Ratio || cost.Pairs != 1 {
		t.Errorf("the sandbox costs %+v, %v", cost, ok)
	}
	q, _, _ := EstimateNeed(rows, "chatty", []string{"1"})
	if _, mid, _ := band(t, q); mid < 90 || mid > 115 {
		t.Errorf("outside it needs %v", q)
	}
	if _, ok := SandboxCost(rows[:1], "chatty"); ok {
		t.Error("a cost is known of what was never in the sandbox")
	}
}

func TestProgramsAreRecognized(t *testing.T) {
	for line, want := range map[string]string{
		"":                              "|",
		"./burn 30":                     "burn|30",
		"/usr/bin/python3 dir/pi.py 20": "python3 pi.py|20",
		"python3.11 pi.py":              "python3.11 pi.py|",
		"python3 -m http.server":        "python3|-m http.server",
		"sh":                            "sh|",
		"bash run.sh a b":               "bash run.sh|a b",
	} {
		program, args := SplitCommand(strings.Fields(line))
		if got := program + "|" + strings.Join(args, " "); got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
	for line, want := range map[string]string{"./burn 30": "burn|30", "N=3 exec python3 pi.py 5": "python3 pi.py|5",
		"":                   "sh|-c ",
		"sh -c 'for i in 1'": "for|i in 1'", `"./a b" c`: "a|b\" c"} {
		program, args := SplitCommand([]string{"/bin/sh", "-c", line})
		if got := program + "|" + strings.Join(args, " "); got != want {
			t.Errorf("sh -c %q is %q, want %q", line, got, want)
		}
	}
}

// FuzzProgram: whatever the command line, it has a program, and its arguments
// have a shape that is theirs alone but for numbers.
func FuzzProgram(f *testing.F) {
	for _, line := range []string{"sh\n-c\n./a 1 | b", "python3\nx.py\n--n=1e5", "\n", "sh\n-c\nA=1 B=2",
		"a\n=\n0x1p3\nNaN\nInf", "3\n#", "a\n1e308\n-0"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		argv := strings.Split(line, "\n")
		before := slices.Clone(argv)
		program, args := SplitCommand(argv)
		if !slices.Equal(argv, before) {
			t.Fatal("the command line was changed")
		}
		rows := []Run{done(program, 3, args...), done(program, 4, args...), done(program, 2, "1"), done(program, 2, "x=2")}
		if q, _, n := EstimateNeed(rows, program, args); n < 2 || len(q) != NLevels || !slices.IsSorted(q) {
			t.Fatalf("%q needs %v from %d runs", line, q, n)
		}
		if q, _, n := EstimateNeed(rows, program, []string{"7"}); n == 0 || !slices.IsSorted(q) {
			t.Fatalf("%q needs %v from %d runs", line, q, n)
		}
	})
}
