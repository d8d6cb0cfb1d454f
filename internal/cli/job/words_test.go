package job

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestListsOfJobsFitEightyColumnsAndSayWhyBelow(t *testing.T) {
	a, _, _ := quietApp()
	jobs := []api.Job{
		{ID: 12, Name: "a-name-that-is-much-longer-than-others-and-goes-on", State: core.Failed, Cluster: "left",
			Submitted: at(-90), Ended: at(-30),
			WallS: 12.5, ExitCode: ptr(7), Why: "the program exited with code 7"},
		{ID: 13, Name: "b", Array: 13, Index: ptr(4), State: core.Submitted, Submitted: at(-10),
			Why: "waiting for 1 core (none free)"},
	}
	tab := jobTable(a, jobs, false)
	var b strings.Builder
	if err := tab.PrintTable(&b, 80); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("too wide: %s", line)
		}
	}
	text := b.String()
	for _, want := range []string{"\n     the program exited with code 7\n", "13_4", "pending",
		"\n     waiting for 1 core (none free)\n", "…"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, empty := range []string{"user", "done", "deadline", "in time"} {
		if strings.Contains(strings.SplitN(text, "\n", 2)[0], empty) {
			t.Errorf("an empty column %q is shown:\n%s", empty, text)
		}
	}
}

func TestColumnsThatMatterLessAreLeftOutWhereThereIsNoRoom(t *testing.T) {
	a, _, _ := quietApp()
	jobs := []api.Job{{ID: 7, Name: "engine-diagnosis", Array: 1234, Index: ptr(17), State: core.Running,
		Cluster: "barkla", Submitted: at(-90), Progress: ptr(0.5),
		PredictedEnd: at(60), Deadline: at(90), PDeadline: ptr(0.999), WallS: 12.5}}
	for width, want := range map[int]string{
		80:  "    job  name        state    cluster     ran  done  ends      deadline  in time",
		160: "    job  name              state    cluster  submitted     ran  done  ends      deadline  in time",
	} {
		var b strings.Builder
		if err := jobTable(a, jobs, false).PrintTable(&b, width); err != nil {
			t.Fatal(err)
		}
		if head, _, _ := strings.Cut(b.String(), "\n"); strings.TrimSpace(head) != strings.TrimSpace(want) {
			t.Errorf("in %d columns\n%s, want\n%s", width, b.String(), want)
		}
		for line := range strings.Lines(b.String()) {
			if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > width {
				t.Errorf("too wide: %s", line)
			}
		}
	}
}

func TestTheCheckpointMethodOfAStartIsSaidOnce(t *testing.T) {
	a, out, _ := quietApp()
	list := []api.Decision{{Kind: "start", Choice: "on left from the beginning", Why: "checkpoint method: sandbox"},
		{Kind: "method", Choice: "sandbox", Why: "it has a deadline"},
		{Kind: "start", Choice: "on right from checkpoint 1", Why: "checkpoint method: sandbox"}}
	if err := a.printStory(&api.Job{ID: 7, Name: "x"}, list); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "checkpoint method"); n != 2 {
		t.Errorf("said %d times:\n%s", n, out.String())
	}
}

func TestStatesAreKnownByTheWordsOfTablesAndOfJSON(t *testing.T) {
	waiting, done := &api.Job{State: core.Queued}, &api.Job{State: core.Done}
	for _, c := range []struct {
		job  *api.Job
		word string
		want bool
	}{{done, "completed", true}, {done, "DONE", true}, {done, "failed", false}, {waiting, "queued", true},
		{waiting, "pending", true}} {
		if got := inState(c.job, []string{c.word}); got != c.want {
			t.Errorf("%v is %s: %v", c.job.State, c.word, got)
		}
	}
	if err := checkStates([]string{"faild"}); err == nil || !strings.Contains(err.Error(), "did you mean failed?") {
		t.Errorf("a misspelt state is told as %v", err)
	}
}

func TestCommandsAreQuotedAsAShellNeedsThem(t *testing.T) {
	for want, words := range map[string][]string{
		"sh -c 'pwd; ls -la'":      {"sh", "-c", "pwd; ls -la"},
		`echo 'it'\''s'`:           {"echo", "it's"},
		`sh -c $'a\nb\'c'`:         {"sh", "-c", "a\nb'c"},
		"./solve --input=x.dat ''": {"./solve", "--input=x.dat", ""},
	} {
		if got := quoteCommand(words); got != want {
			t.Errorf("%q is shown as %s, want %s", words, got, want)
		}
	}
}

func TestOnlyTheLastLinesAreKept(t *testing.T) {
	for _, c := range []struct {
		most int
		want string
	}{{-1, "a\nbc\nd"}, {2, "bc\nd"}, {0, ""}, {9, "a\nbc\nd"}} {
		var b bytes.Buffer
		l := &lastLines{to: &b, most: c.most}
		for _, part := range []string{"a\nb", "c", "\nd"} {
			if _, err := l.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.flushLines(); err != nil || b.String() != c.want {
			t.Errorf("the last %d lines are %q, %v; want %q", c.most, b.String(), err, c.want)
		}
	}
}

func TestSendingIsToldWithSizesAndRate(t *testing.T) {
	if got, want := sendingText("/w", 512<<20, 2<<30, 64<<20), "sending /w: 512 MiB of 2 GiB, 64 MiB/s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
