package localq

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/recordings"
)

// published is a schedule of the KTH SP2 trace on 100 processors by pyss.
type published struct {
	file        string
	policy      Policy
	clairvoyant bool // the estimate of a job is its run time
}

var schedules = []published{
	{"KTH-SP2.EASY.swf.gz", EASY, false},
	{"KTH-SP2.EASY-clairvoyant.swf.gz", EASY, true},
	{"KTH-SP2.EASYpp-clairvoyant.swf.gz", SJBF, true},
}

// agreement is how near a schedule is to a published one.
type agreement struct {
	jobs, exact, within1s int
	mean, published       float64 // waits in seconds
}

func (a agreement) String() string {
	share := func(n int) float64 { return 100 * float64(n) / float64(a.jobs) }
	return fmt.Sprintf("%.3f %% of the jobs within a second, %.3f %% exact, mean wait %.3f s (published %.3f s)",
		share(a.within1s), share(a.exact), a.mean, a.published)
}

// compare plays the trace and compares it with a published schedule, where
// the wait field of a job says when it started. It is not ok if the files are
// not here.
func (p published) compare(t *testing.T, opts Options) (a agreement, ok bool) {
	t.Helper()
	path := recordings.OrGenerated(t, "swf", "pyss_easy_reference", p.file)
	if path == "" {
		return a, false
	}
	want, err := swf.ReadFile(path, swf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	input, err := swf.ReadFile(recordings.Path(t, "swf", "KTH-SP2-1996-2.pyss-filtered.swf.gz"), swf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	waits := make(map[int64]time.Duration, len(want.Records))
	for i := range want.Records {
		waits[want.Records[i].ID] = want.Records[i].Wait
	}
	jobs := make([]traced, len(input.Records))
	for i := range jobs {
		r := &input.Records[i]
		jobs[i] = traced{r.Submit, r.Run, r.NeededProcs(), r.EstimatedTime()}
		if p.clairvoyant {
			jobs[i].estimate = r.Run
		}
	}
	a.jobs = len(jobs)
	for i, start := range replay(t, New(p.policy, 100, opts), jobs) {
		got, ref := start.Sub(jobs[i].submit), waits[input.Records[i].ID]
		a.mean += got.Seconds() / float64(a.jobs)
		a.published += ref.Seconds() / float64(a.jobs)
		if got == ref {
			a.exact++
		}
		if (got - ref).Abs() <= time.Second {
			a.within1s++
		}
	}
	return a, true
}

func TestEveryJobOfTheKTHTraceStartsWhenPublished(t *testing.T) {
	for _, p := range schedules {
		a, ok := p.compare(t, Options{})
		if !ok {
			t.Logf("%s is not here, so only the twin vouches for the schedule", p.file)
			sameAsTwin(t, p.policy, Options{}, workload(1, 2000, 100, 0.9, p.clairvoyant))
			continue
		}
		t.Logf("%s: %v", p.file, a)
		if a.exact != a.jobs || math.Abs(a.mean-a.published) > 1e-6 {
			t.Errorf("%s: %v", p.file, a)
		}
	}
}

// Each rule is told apart from its alternative by at least one of the
// schedules, so the defaults are what the data say and not a matter of taste.
func TestTheOtherChoiceOfEachRuleAgreesLess(t *testing.T) {
	for _, opts := range []Options{{OncePerInstant: true}, {EndsFirst: true}, {EndsInTurn: true}, {ExtraInOrder: true}} {
		less := false
		for _, p := range schedules {
			a, ok := p.compare(t, opts)
			if !ok {
				t.Logf("%s is not here: nothing to compare", p.file)
				return
			}
			t.Logf("%+v, %s: %v", opts, p.file, a)
			less = less || a.exact < a.jobs
		}
		if !less {
			t.Errorf("%+v agrees as well as the default", opts)
		}
	}
}
