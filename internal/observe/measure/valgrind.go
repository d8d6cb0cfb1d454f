package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// cacheWays is how many lines of a simulated cache may take the place of each other:
// as many as in the caches of processors of today, and near enough to all.
const cacheWays = 16

// cache is a cache to be simulated.
type cache struct{ capacity, line int }

func (c cache) String() string {
	return fmt.Sprintf("%d,%d,%d", c.capacity, min(cacheWays, c.capacity/c.line), c.line)
}

// counted is what valgrind says at the end of a program and its children.
type counted struct {
	instructions    float64
	nearby, further float64 // misses of the first and of the last cache
	written         float64 // of the last, those that made a line go back that was written to
}

// countInstructions counts the instructions of a program under valgrind.
func countInstructions(ctx context.Context, argv []string, dir string) (float64, error) {
	c, err := runValgrind(ctx, argv, dir, "cachegrind", "--cache-sim=no")
	return c.instructions, err
}

// simulateMisses simulates two caches of one line length, the first the smaller. Which
// lines go back only callgrind can tell, which takes longer.
func simulateMisses(ctx context.Context, argv []string, dir string, near, far cache, written bool) (counted, error) {
	tool, options := "cachegrind", []string{"--cache-sim=yes", "--I1=32768,8," + strconv.Itoa(near.line),
		"--D1=" + near.String(), "--LL=" + far.String()}
	if written {
		tool, options = "callgrind", append(options, "--simulate-wb=yes")
	}
	return runValgrind(ctx, argv, dir, tool, options...)
}

func runValgrind(ctx context.Context, argv []string, dir, tool string, options ...string) (counted, error) {
	logs, remove, err := makeScratch()
	if err != nil {
		return counted{}, err
	}
	defer remove()
	full := append([]string{"valgrind", "--tool=" + tool, "--trace-children=yes",
		"--" + tool + "-out-file=/dev/null", "--log-file=" + filepath.Join(logs, "%p.log")}, options...)
	if _, err := runCommand(ctx, append(append(full, "--"), argv...), argv, dir, nil); err != nil {
		return counted{}, err
	}
	names, err := filepath.Glob(filepath.Join(logs, "*.log"))
	if err != nil {
		return counted{}, err
	}
	var sum counted
	for _, name := range names {
		text, err := os.ReadFile(name) // in our own folder
		if err != nil {
			return counted{}, err
		}
		c := parseSummary(string(text))
		sum.instructions += c.instructions
		sum.nearby += c.nearby
		sum.further += c.further
		sum.written += c.written
	}
	if sum.instructions == 0 {
		return counted{}, errors.New("valgrind counted no instruction of " + argv[0])
	}
	return sum, nil
}

// parseSummary reads the summary at the end of valgrind's log: lines such as
// "==12== D1  misses:  1,234  ( 1,000 rd + 234 wr)", and from callgrind
// "==12== Events    : Ir DLdmr" with "==12== Collected : 1000 20". What does not look
// like that counts as nothing.
func parseSummary(log string) counted {
	var c counted
	var events []string
	for line := range strings.Lines(log) {
		_, line, _ = strings.Cut(line, "== ")
		name, rest, ok := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if !ok || len(fields) == 0 {
			continue
		}
		name = strings.Join(strings.Fields(name), " ")
		switch name {
		case "Events":
			events = fields
			continue
		case "Collected":
			for i, e := range events[:min(len(events), len(fields))] {
				if e == "DLdmr" || e == "DLdmw" {
					c.written += parseNumber(fields[i])
				}
			}
			continue
		}
		switch v := parseNumber(fields[0]); name {
		case "I refs":
			c.instructions = v
		case "D1 misses":
			c.nearby = v
		case "LLd misses":
			c.further = v
		}
	}
	return c
}

// parseNumber is what a field says; 0 if that is none.
func parseNumber(field string) float64 {
	v, _ := strconv.ParseUint(strings.ReplaceAll(field, ",", ""), 10, 64)
	return float64(v)
}

// pair is one run under cachegrind: two caches.
type pair struct{ near, far cache }

// countsWritten says whether lines that go back are counted too; once is enough.
func (p pair) countsWritten() bool { return p.far.line == perfmodel.Line }

// cachePairs are the runs that cover all capacities from the smallest of use up to
// what the program touches and more: an octave apart, two for wide lines, which
// only tell of what share of the misses come in order.
func cachePairs(footprint float64) []pair {
	var list []pair
	for _, k := range []struct{ line, step int }{{perfmodel.Line, 2}, {perfmodel.Wide, 4}} {
		line := k.line
		var all []cache
		// Fewer lines than a program has streams would only tell of that.
		for c := 16 * line; c <= 1<<26 && (len(all) < 2 || float64(c) < 4*footprint); c *= k.step {
			all = append(all, cache{c, line})
		}
		if len(all)%2 != 0 {
			all = append(all, cache{k.step * all[len(all)-1].capacity, line})
		}
		half := len(all) / 2
		for i := range half {
			list = append(list, pair{all[i], all[i+half]})
		}
	}
	return list
}
