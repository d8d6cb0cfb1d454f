package world

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func drawProcs(t *rapid.T, n int) core.ProcSet {
	var s core.ProcSet
	for at := rapid.IntRange(0, n).Draw(t, "at"); at < n && len(s) < 5; {
		hi := rapid.IntRange(at+1, n).Draw(t, "hi")
		s = append(s, core.Range{Lo: int32(at), Hi: int32(hi)})
		at = hi + rapid.IntRange(1, n).Draw(t, "gap")
	}
	return s
}

func TestABitsetAgreesWithASliceOfBools(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		b, twin := newBitset(n), make([]bool, n)
		for range 10 {
			s := drawProcs(t, n)
			set := rapid.Bool().Draw(t, "set")
			if set {
				b.addAll(s)
			} else {
				b.removeAll(s)
			}
			eachProc(s, func(p int) { twin[p] = set })
			compareBits(t, b, twin, drawProcs(t, n), rapid.IntRange(0, n).Draw(t, "lowest"))
		}
	})
}

func eachProc(s core.ProcSet, f func(int)) {
	for _, r := range s {
		for p := r.Lo; p < r.Hi; p++ {
			f(int(p))
		}
	}
}

func compareBits(t *rapid.T, b bitset, twin []bool, s core.ProcSet, lowest int) {
	count, all, some := 0, true, false
	for _, in := range twin {
		if in {
			count++
		}
	}
	eachProc(s, func(p int) { all, some = all && twin[p], some || twin[p] })
	if gotAll, gotSome := b.containsAny(s); gotAll != all || gotSome != some || b.countMembers() != count {
		t.Fatalf("has %v: %v, %v, want %v, %v; counts %d, want %d", s, gotAll, gotSome, all, some, b.countMembers(), count)
	}
	got := b.appendLowest(lowest, 0, nil)
	if !got.IsValid(len(twin)) || got.CountProcs() != min(lowest, count) {
		t.Fatalf("the lowest %d are %v", lowest, got)
	}
	at := 0
	eachProc(got, func(p int) {
		for ; at < p; at++ {
			if twin[at] {
				t.Fatalf("%d is lower than %d and was left out of %v", at, p, got)
			}
		}
		if !twin[p] {
			t.Fatalf("%d is not in the set", p)
		}
		at = p + 1
	})
}

func TestTakingAndGivingProcessorsKeepsAllCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 150).Draw(t, "n")
		c := testWorld(n).clusters[0]
		var held []core.ProcSet
		for range 30 {
			switch rapid.SampledFrom([]string{"take", "give", "poll", "fail", "join"}).Draw(t, "what") {
			case "take":
				want := rapid.IntRange(1, n).Draw(t, "want")
				s := c.ChooseProcs(want, nil)
				if s.CountProcs() == want != (c.IdleProcs() >= want) {
					t.Fatalf("chose %v of %d idle for %d", s, c.IdleProcs(), want)
				}
				if len(s) > 0 && c.takeProcs(s) {
					held = append(held, s)
				}
			case "give":
				if len(held) > 0 {
					c.returnProcs(held[0])
					held = held[1:]
				}
			case "poll":
				c.setForeignUse(drawProcs(t, n))
			case "fail":
				c.markDown(drawProcs(t, n))
			case "join":
				c.markUp(drawProcs(t, n))
			}
			seen := tally{held: newBitset(n)}
			for _, s := range held {
				seen.held.addAll(s)
			}
			if err := c.checkTally(&seen); err != nil {
				t.Fatal(err)
			}
		}
	})
}
