package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/sched/resched"
	simapp "github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
)

// simFlags is the flags of godwit sim as they were given.
type simFlags struct {
	platform, trace, scenario, replay string
	seed                              uint64
	processors                        int

	local, place, approach, malleable string
	rules                             rules
	compare                           []pair
	keepFree, growFree                reserve
	maxTries                          int
	scanEvery                         time.Duration

	lenient                         bool
	load, share, minShare, maxShare float64
	first                           int
	estimates, overrun              string
	speedup                         speedup

	output, jobsOut, plots, log string
	quiet                       bool

	changed func(flag string) bool
}

type (
	rules   = localq.Options
	speedup = simapp.Speedup
)

func parseSpeedup(text string) (speedup, error) {
	s, err := simapp.ParseSpeedup("", text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), strconv.Quote(text)+": "))
	}
	return s, nil
}

// easyRules are the names of the choices within an instant; see package
// localq.
var easyRules = []struct {
	name string
	set  func(*rules)
}{
	{"once-per-instant", func(r *rules) { r.OncePerInstant = true }},
	{"ends-first", func(r *rules) { r.EndsFirst = true }},
	{"ends-in-turn", func(r *rules) { r.EndsInTurn = true }},
	{"extra-in-order", func(r *rules) { r.ExtraInOrder = true }},
}

// textbook is EASY as it is usually described: one pass when all of an instant
// is known, running jobs counted in the order of their ends until the head
// fits.
var textbook = rules{OncePerInstant: true, ExtraInOrder: true}

func ruleNames() []string {
	names := []string{"reference", "textbook"}
	for _, r := range easyRules {
		names = append(names, r.name)
	}
	return names
}

func parseRules(text string) (r rules, err error) {
	switch text {
	case "reference":
		return rules{}, nil
	case "textbook":
		return textbook, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		i := slices.Index(ruleNames(), name) - 2
		if i < 0 {
			return r, errors.New("reference, textbook, or a list of " + term.JoinWords(ruleNames()[2:]))
		}
		easyRules[i].set(&r)
	}
	return r, nil
}

// pair is a policy to compare, with an approach if it is to have its own; or a mode of the rescheduler.
type pair struct{ approach, malleable, mode string }

// forcedMode is what --compare calls the opposite of what the rescheduler would decide.
const forcedMode = "forced"

// reschedModes are the modes of the rescheduler as --compare takes them.
func reschedModes() []string { return append(resched.ModeNames(), forcedMode) }

// parseMode is a mode to compare.
func parseMode(word string) (pair, bool) {
	switch {
	case word == forcedMode:
		return pair{mode: resched.ModeOpposite}, true
	case slices.Contains(resched.ModeNames(), word):
		return pair{mode: word}, true
	}
	return pair{}, false
}

func parsePairs(text string) (pairs []pair, err error) {
	for word := range strings.SplitSeq(text, ",") {
		p := pair{malleable: word}
		if approach, policy, both := strings.Cut(word, "/"); both {
			p = pair{approach: approach, malleable: policy}
		}
		if mode, ok := parseMode(word); ok {
			p = mode
		}
		switch {
		case p.approach != "" && !slices.Contains(approaches, p.approach):
			return nil, fmt.Errorf("unknown approach %q, %s", p.approach, term.SuggestChoices(p.approach, approaches))
		case p.mode == "" && !slices.Contains(policyNames(), p.malleable):
			return nil, fmt.Errorf("unknown policy %q, %s", p.malleable, term.SuggestChoices(p.malleable, policyNames()))
		case slices.Contains(pairs, p):
			return nil, fmt.Errorf("every policy once, %q is there twice", word)
		}
		pairs = append(pairs, p)
		if (p.mode == "") != (pairs[0].mode == "") {
			return nil, errors.New("either malleability policies or modes of the rescheduler: default,forced")
		}
	}
	return pairs, nil
}

// reserve is a number of processors for every cluster or for some by name.
type reserve struct {
	all  int
	some []reserved
}

type reserved struct {
	cluster string
	n       int
}

func parseReserve(text string) (r reserve, err error) {
	want := errors.New("a whole number of at least 0, or CLUSTER=N,CLUSTER=N")
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return reserve{all: n}, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		cluster, number, ok := strings.Cut(word, "=")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 0 || cluster == "" {
			return r, want
		}
		r.some = append(r.some, reserved{cluster, n})
	}
	return r, nil
}
