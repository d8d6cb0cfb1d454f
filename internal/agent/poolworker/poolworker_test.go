package poolworker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheItemTakesThePlaceOfTheBracesOrComesLast(t *testing.T) {
	for _, c := range []struct{ argv, want []string }{
		{[]string{"p", "-x"}, []string{"p", "-x", "a b"}},
		{[]string{"p", "{}.in", "{}-{}"}, []string{"p", "a b.in", "a b-a b"}},
		{[]string{"{}"}, []string{"a b"}},
	} {
		if got := newCommand(c.argv, nil).itemArgs("a b"); !slices.Equal(got, c.want) {
			t.Errorf("%q became %q", c.argv, got)
		}
	}
}

func TestAnItemEndsAsItsProgramDoes(t *testing.T) {
	env := []string{"PATH=/usr/bin:/bin", "GODWIT_ITEM=outer", poolwork.BrokerVariable + "=/secret", "A=1"}
	for _, c := range []struct {
		script   string
		code     int
		out, err string
	}{
		{`echo "$GODWIT_ITEM $0 $A $GODWIT_BROKER"; echo to stderr >&2`, 0, "it's it's 1 \n", "to stderr\n"},
		{"exit 7", 7, "", ""},
		{"kill -9 $$", 128 + int(syscall.SIGKILL), "", ""},
	} {
		o := newCommand([]string{"sh", "-c", c.script}, env).runItem(t.Context(), []byte("it's"))
		if o.Code != c.code || string(o.Out) != c.out || string(o.Err) != c.err || o.Cut {
			t.Errorf("%s: %d %q %q", c.script, o.Code, o.Out, o.Err)
		}
	}
	for program, want := range map[string]int{"/no/such/program": codeNotFound, "no-such-program": codeNotFound,
		"/etc/passwd": codeNotRunning} {
		if o := newCommand([]string{program}, env).runItem(t.Context(), []byte("x")); o.Code != want || len(o.Err) == 0 {
			t.Errorf("%s: %d %q", program, o.Code, o.Err)
		}
	}
	o := newCommand([]string{"head", "-c", "{}", "/dev/zero"}, env).runItem(t.Context(), fmt.Append(nil, poolwork.MaxOutput+1))
	if len(o.Out) != poolwork.MaxOutput || !o.Cut {
		t.Errorf("%d bytes, cut: %v", len(o.Out), o.Cut)
	}
}

func TestAnItemIsOverWhenItsProgramIsAndNobodyWritesAnyMore(t *testing.T) {
	for _, c := range []struct {
		script string
		code   int
		out    string
	}{
		{"(sleep 0.3; echo late) & echo now", 0, "now\nlate\n"},
		{"exec >&- 2>&-; sleep 0.3; exit 3", 3, ""},
		{"exec >&-; sleep 0.3; echo to stderr >&2; exit 4", 4, ""},
	} {
		o := newCommand([]string{"sh", "-c", c.script}, os.Environ()).runItem(t.Context(), []byte("x"))
		if o.Code != c.code || string(o.Out) != c.out {
			t.Errorf("%s: %d %q", c.script, o.Code, o.Out)
		}
	}
}

func TestAnItemIsAskedToEndWithItsWorker(t *testing.T) {
	for name, script := range map[string]string{
		"a program that writes":   `trap 'echo ends; exit 9' TERM; echo > "$1"; while :; do sleep 0.05; done`,
		"one that writes no more": `trap 'exit 9' TERM; exec >&- 2>&-; : > "$1"; while :; do sleep 0.05; done`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			up := filepath.Join(t.TempDir(), "up")
			go func() {
				defer cancel()
				for ctx.Err() == nil {
					if _, err := os.Stat(up); err == nil {
						return
					}
					time.Sleep(5 * time.Millisecond)
				}
			}()
			if o := newCommand([]string{"sh", "-c", script, "sh"}, os.Environ()).runItem(ctx, []byte(up)); o.Code != 9 {
				t.Errorf("it ended with %d, %q", o.Code, o.Out)
			}
			cancel()
		})
	}
}

// fakeBroker gives out items and loses every other answer.
type fakeBroker struct {
	testing.TB
	mu      sync.Mutex
	items   int
	asked   int
	held    map[int]bool
	counted map[int]int
	left    bool
}

func (b *fakeBroker) exchange(_ context.Context, r *poolwork.Report) (*poolwork.Answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.asked%5 == 0 {
		return nil, errors.New("nobody answers")
	}
	holds, err := poolwork.DecodeRanges(r.Holds, poolwork.MaxHeld)
	if err != nil || r.CheckFields() != nil {
		b.Errorf("%+v: %v, %v", r, err, r.CheckFields())
	}
	for _, o := range r.Outcomes {
		if b.counted[o.Item] == 0 || b.held[o.Item] {
			b.counted[o.Item]++
		}
		delete(b.held, o.Item)
	}
	var given []int
	a := &poolwork.Answer{}
	for item := range b.items {
		isHeld := slices.Contains(holds, item)
		if b.held[item] && !isHeld {
			b.held[item] = false // an answer was lost
		}
		if b.counted[item] == 0 && !isHeld && len(holds)+len(given) < 20 {
			given = append(given, item)
			b.held[item] = true
			a.Texts = fmt.Appendf(a.Texts, "%d\n", item)
		}
	}
	a.Items = poolwork.EncodeRanges(given)
	b.left = r.Leaving
	a.Leave = r.Leaving || len(b.counted) == b.items && len(holds) == 0
	if b.asked%5 == 3 {
		return nil, errors.New("the answer is lost")
	}
	return a, nil
}

func TestAWorkerReportsEveryItemThoughAnswersAreLost(t *testing.T) {
	b := &fakeBroker{TB: t, items: 200, held: map[int]bool{}, counted: map[int]int{}}
	ran := map[string]int{}
	WorkItems(t.Context(), Options{Pool: 1, Job: 2, Mark: "m", Clock: clock.RealClock(), Exchange: b.exchange,
		RunItem: func(_ context.Context, item []byte) poolwork.Outcome {
			ran[string(item)]++
			return poolwork.Outcome{}
		}})
	for item := range b.items {
		if b.counted[item] != 1 || ran[fmt.Sprint(item)] < 1 {
			t.Errorf("item %d was counted %d times and run %d times", item, b.counted[item], ran[fmt.Sprint(item)])
		}
	}
}

func TestAWorkerThatIsToEndReportsWhatItHasDoneAndNothingElse(t *testing.T) {
	b := &fakeBroker{TB: t, items: 100, held: map[int]bool{}, counted: map[int]int{}, asked: 5}
	ctx, cancel := context.WithCancel(t.Context())
	WorkItems(ctx, Options{Pool: 1, Job: 2, Mark: "m", Clock: clock.RealClock(), Exchange: b.exchange,
		RunItem: func(ctx context.Context, item []byte) poolwork.Outcome {
			if string(item) == "4" {
				time.AfterFunc(50*time.Millisecond, cancel)
				return newCommand([]string{"sleep", "{}"}, nil).runItem(ctx, []byte("1000"))
			}
			return poolwork.Outcome{}
		}})
	if !b.left || b.counted[4] != 0 || b.counted[5] != 0 {
		t.Errorf("it left: %v; counted %v", b.left, b.counted)
	}
}

// What a program costs that does nothing: its start, its pipes and its end.
func BenchmarkRunItem(b *testing.B) {
	c := newCommand([]string{"/bin/true"}, strings.Fields("PATH=/bin HOME=/root"))
	for b.Loop() {
		if o := c.runItem(b.Context(), []byte("x")); o.Code != 0 {
			b.Fatal(o)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
}
