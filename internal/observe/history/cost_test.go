package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestACostHasAFixedPartAndOneForEachByte(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 1))
	var rows []Transfer
	for range 30 {
		sent := math.Exp(10 + 10*random.Float64())
		rows = append(rows, Transfer{What: Save, Method: "sandbox", Program: "pi", From: "uh", Sent: int64(sent),
			Seconds: (0.5 + sent/50e6) * math.Exp(0.1*random.NormFloat64())})
	}
	like := Transfer{What: Save, Method: "sandbox", Program: "pi", From: "uh"}
	for _, bytes := range []int64{0, 1e6, 1e8, 1e9} {
		q, why, n := TransferCost(rows, like, bytes)
		lo, mid, hi := band(t, q)
		want := 0.5 + float64(bytes)/50e6
		if n != 30 || math.Abs(math.Log(mid/want)) > 0.25 || lo > want || hi < want ||
			!strings.Contains(why, "same program") {
			t.Errorf("%d bytes take %g to %g to %g s, want %g; %s", bytes, lo, mid, hi, want, why)
		}
	}
}

func TestACostIsTakenFromTheNearestThatHappened(t *testing.T) {
	rows := []Transfer{
		{What: Save, Method: "sandbox", Program: "xto", From: "uh", Sent: 1e8, Seconds: 4},
		{What: Save, Method: "signal", Program: "pi", From: "uh", Sent: 1e6, Seconds: 0.1},
		{What: Restore, Method: "sandbox", Program: "pi", To: "uh", Sent: 1e8, Seconds: 1},
		{What: Save, Method: "sandbox", Program: "pi", From: "uh", Sent: 1e8, Seconds: 0}, // no clock is that bad
	}
	q, why, n := TransferCost(rows, Transfer{What: Save, Method: "sandbox", Program: "pi", From: "uh"}, 1e8)
	if lo, mid, hi := band(t, q); n != 1 || mid < 3.2 || mid > 4.1 || hi/lo < 2 ||
		!strings.Contains(why, "same method and clusters") {
		t.Errorf("%v, %s, %d", q, why, n)
	}
	if _, why, _ := TransferCost(rows, Transfer{What: Save, Method: "sandbox", Program: "pi", From: "utk"},
		1e8); !strings.Contains(why, "with the same method") {
		t.Error(why)
	}
	if q, why, n := TransferCost(rows, Transfer{What: StageIn}, 1e8); q[6] < 5 || q[6] > 20 || n != 0 ||
		!strings.Contains(why, "not measured") {
		t.Errorf("what was never done costs %v, %s", q, why)
	}
	if q, _, _ := TransferCost([]Transfer{{What: StageIn, Sent: 0, Seconds: 0.2}}, Transfer{What: StageIn},
		1e9); q[6] < 50 {
		t.Errorf("a gigabyte costs %v s because nothing cost little", q)
	}
}

func TestOneTinyTransferDoesNotSayWhatLargeOnesCost(t *testing.T) {
	tiny := func(method string) []Transfer {
		return []Transfer{{What: Save, Method: method, Program: "counter", From: "a", Bytes: 786, Sent: 786, Seconds: 0.17}}
	}
	like := Transfer{What: Save, Method: "sandbox", Program: "pi", From: "a"}
	before, _, _ := TransferCost(nil, like, 150e6)
	after, _, n := TransferCost(tiny("signal"), like, 150e6)
	if n != 0 || !slices.Equal(before, after) {
		t.Errorf("a save by another method makes the cost %v of %v", after, before)
	}
	for _, name := range []string{"pi", "counter"} {
		like.Program = name
		q, _, n := TransferCost(tiny("sandbox"), like, 150e6)
		if n != 1 || q[6] > before[6] || q[6] < 0.3 || q[11] > 10 {
			t.Errorf("after a save of 786 bytes in 0.17 s one of 150 MB of %s costs %v s", name, q)
		}
	}
	large := append(tiny("sandbox"),
		Transfer{What: Save, Method: "sandbox", Program: "pi", From: "a", Sent: 100e6, Seconds: 6})
	like.Program = "pi"
	if q, _, _ := TransferCost(large, like, 150e6); q[6] < 6 || q[6] > 12 {
		t.Errorf("100 MB took 6 s, 150 MB are to take %v", q[6])
	}
	// One that hung for an hour is not what they cost.
	var rows []Transfer
	for range 10 {
		rows = append(rows, Transfer{What: Save, Method: "sandbox", Program: "pi", From: "a", Sent: 100e6, Seconds: 1})
	}
	rows = append(rows, Transfer{What: Save, Method: "sandbox", Program: "pi", From: "a", Sent: 100e6, Seconds: 3600})
	if q, _, _ := TransferCost(rows, like, 100e6); q[6] < 0.9 || q[6] > 2 {
		t.Errorf("ten took 1 s and one an hour: the next is to take %v s", q[6])
	}
}

func TestRatesAreMedians(t *testing.T) {
	rows := []Transfer{{From: "a", To: "b", Sent: 10, Seconds: 1}, {From: "a", To: "b", Sent: 30, Seconds: 1},
		{From: "a", To: "b", Sent: 2000, Seconds: 1},
		{From: "b", To: "a", Sent: 7, Seconds: 1}, {From: "a", To: "b", Sent: 0, Seconds: 1}}
	if rate, n := TransferRate(rows, "a", "b"); rate != 30 || n != 3 {
		t.Errorf("the rate is %g of %d", rate, n)
	}
	if rate, n := TransferRate(rows, "c", "d"); rate != 0 || n != 0 {
		t.Errorf("the rate is %g of %d", rate, n)
	}
}

func TestAnUnknownClusterIsNotAPerfectOne(t *testing.T) {
	var unknown Reliability
	if unknown.IsKnown() || unknown.Mean() != 0.5 || unknown.LowerBound(0.95) > 0.01 {
		t.Errorf("a cluster that nobody knows has reliability %g, at least %g", unknown.Mean(), unknown.LowerBound(0.95))
	}
	good := Reliability{Requested: 20}
	if good.Mean() < 0.95 || good.Mean() >= 1 || good.LowerBound(0.95) > good.Mean() || good.LowerBound(0.95) < 0.85 {
		t.Errorf("after 20 good ones it has %g, at least %g", good.Mean(), good.LowerBound(0.95))
	}
}

func TestOnlyWhatTheClusterDidCountsAgainstIt(t *testing.T) {
	rows := []Run{
		{Outcome: Finished}, {Outcome: Finished, Deadline: 10, Ended: 9}, {Outcome: Finished, Deadline: 10, Ended: 11},
		{Outcome: Lost}, {Outcome: Moved}, {Outcome: Failed}, {Outcome: Cancelled}, {Outcome: Stopped},
	}
	if r := ReliabilityOf(rows); r.Requested != 5 || r.Failed != 3 {
		t.Errorf("%+v", r)
	}
}

func TestTheLowerBoundOfReliabilityHolds(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	const trials = 4000
	held := 0
	for range trials {
		truth := random.Float64()
		var r Reliability
		for range random.IntN(40) {
			r.Requested++
			if random.Float64() > truth {
				r.Failed++
			}
		}
		if r.LowerBound(0.9) <= truth {
			held++
		}
	}
	if share := float64(held) / trials; share < 0.88 || share > 0.93 {
		t.Errorf("90 %% lower bounds hold %.1f %% of the time", 100*share)
	}
}

func TestHonestQuotesAreFoundHonestAndOthersNot(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 1))
	quote := func(kind string, boast float64) Quote {
		median := math.Exp(4 + random.NormFloat64())
		q := Quote{At: core.AtSecond(1000), Job: 1, Kind: kind, Finish: make([]float64, NLevels)}
		for i, p := range QuantileLevels() {
			q.Finish[i] = median * math.Exp(0.3*boast*studentQuantile(1e7, p))
		}
		took := median * math.Exp(0.3*random.NormFloat64())
		q.Ended = q.At + core.AtSecond(took)
		limit := median * math.Exp(0.5*random.NormFloat64())
		q.Deadline = q.At + core.AtSecond(limit)
		q.Chance = 0.5 * math.Erfc(-math.Log(limit/median)/(0.3*boast)/math.Sqrt2)
		return q
	}
	var quotes []Quote
	for range 3000 {
		quotes = append(quotes, quote("quote", 1), quote("running", 0.4))
	}
	quotes = append(quotes, Quote{At: 5, Kind: "quote"}, Quote{At: 5, Ended: 9, Kind: "running", Chance: -1})
	held := CalibrateQuotes(quotes)
	honest, boastful := held["quote"], held["running"]
	for i, p := range QuantileLevels() {
		if math.Abs(honest.Below[i]-p) > 0.03 {
			t.Errorf("%.2f of outcomes are below the %.2f quantile", honest.Below[i], p)
		}
	}
	if honest.Quotes != 3000 || math.Abs(honest.Band90-0.9) > 0.02 || math.Abs(honest.Band80-0.8) > 0.03 ||
		honest.Error < 0.1 || honest.Error > 0.3 {
		t.Errorf("honest quotes are %+v", honest)
	}
	if boastful.Band90 > 0.6 || boastful.Brier <= honest.Brier {
		t.Errorf("boastful quotes are %+v", boastful)
	}
	for _, c := range honest.Deadlines {
		if c.N > 100 && math.Abs(c.Met-c.Mean) > 0.07 {
			t.Errorf("of deadlines with chance %.2f, %.2f were met (%d)", c.Mean, c.Met, c.N)
		}
	}
	if held[""].Quotes != 6001 || len(CalibrateQuotes(nil)) != 0 {
		t.Errorf("all together are %d", held[""].Quotes)
	}
}
