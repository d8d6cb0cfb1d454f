package load

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// session is the path of the group that a user's terminal is.
func session(name string) []node { return []node{{name, 1}} }

func hungry(at int, path []node) task {
	return task{path: path, weight: 1, want: 1, at: at, may: cpuset{at}}
}

func want(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %.4f, want %.4f", what, got, want)
	}
}

func TestANewcomerSharesWithEqualCompetitors(t *testing.T) {
	for k := range 6 {
		var tasks []task
		for range k {
			tasks = append(tasks, hungry(0, nil))
		}
		want(t, fmt.Sprintf("%d competitors", k), shareOn(0, newcomer{nil, 1}, tasks, []int{0, 1}), 1/float64(k+1))
		want(t, "on the other CPU", shareOn(1, newcomer{nil, 1}, tasks, []int{0, 1}), 1)
	}
}

// Measured: three loops of one session on CPU 0 leave half of it to one of
// another session; a session with a loop on each of two CPUs leaves two thirds
// of one of them.
func TestSessionsShareAsWholes(t *testing.T) {
	three := []task{hungry(0, session("s")), hungry(0, session("s")), hungry(0, session("s"))}
	both := []task{hungry(0, session("s")), hungry(1, session("s"))}
	n := newcomer{session("n"), 1}
	want(t, "three of one session", shareOn(0, n, three, []int{0, 1}), 1.0/2)
	want(t, "one session on both", shareOn(0, n, both, []int{0, 1}), 2.0/3)
	three[2].path = session("t")
	want(t, "two sessions", shareOn(0, n, three, []int{0, 1}), 1.0/3)
}

func TestNicenessAndWeightsCount(t *testing.T) {
	nice := []task{{weight: niceWeight(5), want: 1, at: 0, may: cpuset{0}}}
	want(t, "beside one with niceness 5", shareOn(0, newcomer{nil, 1}, nice, []int{0}), 1/(1+math.Pow(1.25, -5)))
	heavy := []task{hungry(0, []node{{"/heavy", 3}})}
	want(t, "beside a group of weight 3", shareOn(0, newcomer{[]node{{"/ours", 1}}, 1}, heavy, []int{0}), 0.25)
}

func TestGroupsWithinGroupsShareLevelByLevel(t *testing.T) {
	users := func(user, slice string) []node { return []node{{"/user", 1}, {"/user/" + user, 1}, {slice, 1}} }
	tasks := []task{
		hungry(0, []node{{"/system", 1}}),
		hungry(0, users("a", "1")), hungry(0, users("a", "2")),
		hungry(0, users("b", "3")),
	}
	// Half for the users, of which half for b, of which half for the newcomer.
	want(t, "nested", shareOn(0, newcomer{users("b", "4"), 1}, tasks, []int{0}), 1.0/8)
	want(t, "inside a group with another", shareOn(0, newcomer{users("b", "3"), 1}, tasks, []int{0}), 1.0/8)
}

func TestWhatOthersDoNotWantIsLeft(t *testing.T) {
	part := func(w float64) task { return task{weight: 1, want: w, at: 0, may: cpuset{0}} }
	for _, c := range []struct {
		tasks []task
		want  float64
	}{
		{[]task{part(0.3)}, 0.7},
		{[]task{part(0.6)}, 0.5}, // he cannot have more than is fair
		{[]task{part(0.1), part(0.1), part(0.1)}, 0.7},
		{[]task{part(0.1), part(1)}, 0.45},
		{[]task{part(0.2), part(0.6), part(1)}, 0.8 / 3},
	} {
		want(t, fmt.Sprint(c.tasks), shareOn(0, newcomer{nil, 1}, c.tasks, []int{0}), c.want)
	}
}

func TestWhoCanGoElsewhereMakesRoom(t *testing.T) {
	floating := func(at int) task { return task{weight: 1, want: 1, at: at} }
	n := newcomer{nil, 1}
	want(t, "one that floats, an idle CPU", shareOn(0, n, []task{floating(0)}, []int{0, 1}), 1)
	want(t, "one that floats, nowhere to go", shareOn(0, n, []task{floating(0)}, []int{0}), 0.5)
	want(t, "three that float on two CPUs", shareOn(0, n, []task{floating(0), floating(0), floating(1)}, []int{0, 1}), 0.5)
	ours := task{weight: 1, want: 1, at: 1, may: cpuset{1}, ours: true}
	want(t, "the other CPU is ours", shareOn(0, n, []task{floating(0), ours}, []int{0, 1}), 0.5)
	want(t, "ours are no competitors", shareOn(1, n, []task{ours}, []int{0, 1}), 1)
}

func TestAShareIsAShareAndMoreCompetitorsNeverHelp(t *testing.T) {
	groups := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		var tasks []task
		draw := func() task {
			var path []node
			for i := range rapid.IntRange(0, 2).Draw(t, "depth") {
				path = append(path, node{fmt.Sprint(i, rapid.SampledFrom(groups).Draw(t, "group")), 1})
			}
			return task{path: path, weight: niceWeight(rapid.IntRange(-5, 19).Draw(t, "nice")),
				want: rapid.Float64Range(0.02, 1).Draw(t, "want"), at: 0, may: cpuset{0}}
		}
		for range rapid.IntRange(0, 6).Draw(t, "tasks") {
			tasks = append(tasks, draw())
		}
		n := newcomer{[]node{{"own", 1}}, 1}
		before := shareOn(0, n, tasks, []int{0})
		after := shareOn(0, n, append(tasks, draw()), []int{0})
		if before <= 0 || before > 1 || after <= 0 || after > before+1e-9 {
			t.Fatalf("%v with %d competitors, %v with one more", before, len(tasks), after)
		}
	})
}
