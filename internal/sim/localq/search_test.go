package localq

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestSumsOfExpectedEndsAreThoseOfAPlainList(t *testing.T) {
	type entry struct {
		end   core.Time
		procs int
		leaf  int32
	}
	rapid.Check(t, func(t *rapid.T) {
		r := running{newTrie[int]()}
		var list []entry
		times := rapid.OneOf(rapid.Int64Range(-5, 20),
			rapid.SampledFrom([]int64{math.MinInt64, -1 << 40, 1 << 40, math.MaxInt64}))
		for seq := range int64(rapid.IntRange(0, 60).Draw(t, "steps")) {
			if len(list) > 0 && rapid.IntRange(0, 2).Draw(t, "drop") == 0 {
				i := rapid.IntRange(0, len(list)-1).Draw(t, "which")
				r.dropJob(list[i].leaf)
				list = append(list[:i], list[i+1:]...)
			} else {
				e := entry{end: core.Time(times.Draw(t, "end")), procs: rapid.IntRange(1, 5).Draw(t, "procs")}
				e.leaf = r.addJob(e.end, seq, e.procs, int32(seq))
				list = append(list, e)
			}
			at, need := core.Time(times.Draw(t, "at")), rapid.IntRange(1, 30).Draw(t, "need")
			sum := func(by core.Time) (n int) {
				for _, e := range list {
					if e.end <= by {
						n += e.procs
					}
				}
				return n
			}
			if got := r.releasedBy(at); got != sum(at) {
				t.Fatalf("released by %d: %d, want %d", at, got, sum(at))
			}
			want, total := core.Never, sum(core.Never)
			for _, e := range list {
				if sum(e.end) >= need {
					want = min(want, e.end)
				}
			}
			end, released := r.earliestRelease(need)
			if end != want || total >= need && (released < need || released > sum(end)) {
				t.Fatalf("%d are released at %d (%d), want %d", need, end, released, want)
			}
		}
	})
}

func TestTheNextCandidateIsThatOfAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		byTime := rapid.Bool().Draw(t, "by time")
		w := waiting{newTrie[shapes](), byTime}
		var jobs []job
		in := map[int32]bool{}
		estimates := rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64Range(0, math.MaxInt64))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(in) > 0 && rapid.IntRange(0, 2).Draw(t, "drop") == 0 {
				at := int32(rapid.IntRange(0, len(jobs)-1).Draw(t, "which"))
				if in[at] {
					w.dropJob(jobs, at)
					delete(in, at)
				}
			} else {
				at := int32(len(jobs))
				s := shape{rapid.Int32Range(1, 9).Draw(t, "procs"), time.Duration(estimates.Draw(t, "estimate"))}
				jobs = append(jobs, job{shape: s, seq: int64(at)})
				w.addJob(jobs, at)
				in[at] = true
			}
			free := rapid.IntRange(0, 9).Draw(t, "free")
			r := room{free: free, window: time.Duration(estimates.Draw(t, "window")),
				extra: rapid.IntRange(0, free).Draw(t, "extra")}
			want := none
			for at := range int32(len(jobs)) {
				if in[at] && r.hasRoom(jobs[at].procs, jobs[at].estimate) &&
					(want == none || rankOf(&jobs[at], byTime).isBefore(rankOf(&jobs[want], byTime))) {
					want = at
				}
			}
			if got := w.findCandidate(r); got != want {
				t.Fatalf("%+v: job %d, want %d", r, got, want)
			}
		}
	})
}

func rankOf(j *job, byTime bool) rank {
	if byTime {
		return rank{j.estimate, j.seq}
	}
	return rank{0, j.seq}
}

// mixes are queues of n jobs of which no two have the same shape.
var mixes = map[string]func(rng *rand.Rand, i, n int) shape{
	"even": func(rng *rand.Rand, _, _ int) shape {
		return shape{1 + rng.Int32N(100_000), time.Duration(rng.Int64N(1e15))}
	},
	"few sizes": func(rng *rand.Rand, _, _ int) shape {
		return shape{1 << rng.IntN(8), time.Duration(rng.Int64N(1e15))}
	},
	"even on a logarithmic scale": func(rng *rand.Rand, _, _ int) shape {
		return shape{int32(math.Exp(11 * rng.Float64())), time.Duration(math.Exp(34 * rng.Float64()))}
	},
	"the wider the shorter": func(_ *rand.Rand, i, n int) shape {
		return shape{int32(1 + i), time.Duration(n-i) * time.Second}
	},
	"wide and short, narrow and long": func(rng *rand.Rand, i, _ int) shape {
		if i%2 == 0 {
			return shape{5000 + rng.Int32N(5000), time.Duration(1 + rng.Int64N(1e12))}
		}
		return shape{1 + rng.Int32N(50), time.Duration(1e14 + rng.Int64N(1e14))}
	},
}

// TestASearchLooksAtFewNodesWhateverTheMix counts nodes instead of seconds:
// in a queue of n different shapes the bound is a multiple of √n.
func TestASearchLooksAtFewNodesWhateverTheMix(t *testing.T) {
	for name, shapeOf := range mixes {
		for _, n := range []int{1 << 12, 1 << 14, 1 << 16} {
			rng := rand.New(rand.NewPCG(1, 2))
			w := waiting{newTrie[shapes](), false}
			jobs := make([]job, n)
			for i := range jobs {
				jobs[i] = job{shape: shapeOf(rng, i, n), seq: rng.Int64N(1 << 40)}
				w.addJob(jobs, int32(i))
			}
			most, sum := 0, 0
			const searches = 2000
			for i := range searches {
				a, b := jobs[rng.IntN(n)].shape, jobs[rng.IntN(n)].shape
				r := room{free: int(a.procs) - i%2, window: b.estimate - 1}
				r.extra = min(r.free, int(b.procs)) * (i % 3) / 2
				if i%5 == 0 { // just below a job, where there may be none
					r = room{free: int(a.procs), window: a.estimate - 1}
				}
				s := search{waiting: &w, room: r, best: rank{math.MaxInt64, math.MaxInt64}, at: none}
				s.searchRoot()
				most, sum = max(most, s.visited), sum+s.visited
			}
			t.Logf("%s, %d jobs: %d nodes on average, %d at most", name, n, sum/searches, most)
			if limit := 4 * int(math.Sqrt(float64(n))); most > limit {
				t.Errorf("%s: a search among %d jobs looked at %d nodes, the bound is %d", name, n, most, limit)
			}
		}
	}
}
