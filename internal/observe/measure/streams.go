package measure

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// Hardware that fetches ahead follows several sequences of lines beside each other, and a
// loop that reads two arrays waits less for each line than one that reads a single one. How
// many sequences a loop goes through is how many of its instructions miss a cache: each
// goes on where it was in the turn before.

const (
	// streamCapacity is that of the cache whose misses are counted: small enough that arrays
	// of small runs do not fit, large enough that rows do.
	streamCapacity = 64 << 10
	mostStreams    = 16 // above what processors profit from
)

// countStreams is how many sequences of lines the loops of a program go through at once:
// the mean over its misses, in proportions.
func countStreams(ctx context.Context, argv []string, dir string) (float64, error) {
	profiles, remove, err := makeScratch()
	if err != nil {
		return 0, err
	}
	defer remove()
	near, far := cache{streamCapacity, perfmodel.Line}, cache{64 * streamCapacity, perfmodel.Line}
	_, err = runValgrind(ctx, argv, dir, "callgrind", "--cache-sim=yes", "--I1=32768,8,64", "--D1="+near.String(),
		"--LL="+far.String(), "--dump-instr=yes", "--dump-line=no", "--collect-jumps=yes", "--compress-pos=no",
		"--callgrind-out-file="+filepath.Join(profiles, "%p.out"))
	if err != nil {
		return 0, err
	}
	names, err := filepath.Glob(filepath.Join(profiles, "*.out*"))
	if err != nil {
		return 0, err
	}
	octaves, misses := 0.0, 0.0
	for _, name := range names {
		text, err := os.ReadFile(name) // in our own folder
		if err != nil {
			return 0, err
		}
		o, m := parseProfile(string(text)).loopStreams()
		octaves, misses = octaves+o, misses+m
	}
	if misses == 0 {
		return 1, nil
	}
	return math.Exp2(octaves / misses), nil
}

// codeProfile is what callgrind tells of one process: how often each instruction missed the
// cache, by its address, and the loops, by the address of their first instruction and that
// of the last from which they begin anew.
type codeProfile struct {
	misses map[uint64]float64
	loops  map[uint64]uint64
}

// parseProfile reads what callgrind wrote: the costs of an instruction are a line such as
// "0x4010a0 5 1 0 1", where trailing zeros are left out. A line of calls= is followed by one
// with the costs of what was called, a line such as "jcnd=9/10 0x401080" by one with the
// address of the jump. What does not look like that counts as nothing.
func parseProfile(text string) codeProfile {
	p := codeProfile{misses: map[uint64]float64{}, loops: map[uint64]uint64{}}
	var columns []int // where the misses stand among the events
	positions := 1    // columns before the events
	calls, target := false, uint64(0)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == "positions:":
			positions = len(fields) - 1
		case fields[0] == "events:":
			columns = nil
			for i, e := range fields[1:] {
				if e == "D1mr" || e == "D1mw" {
					columns = append(columns, i)
				}
			}
		case strings.HasPrefix(line, "calls="):
			calls = true
		case strings.HasPrefix(line, "jump="), strings.HasPrefix(line, "jcnd="):
			target = jumpTarget(fields)
		case strings.HasPrefix(line, "0x"):
			at := parseAddress(fields[0])
			switch {
			case calls || at == 0:
			case target > 0 && target <= at:
				p.loops[target] = max(p.loops[target], at)
			case target == 0:
				for _, c := range columns {
					if k := positions + c; k < len(fields) {
						p.misses[at] += parseNumber(fields[k])
					}
				}
			}
			calls, target = false, 0
		}
	}
	return p
}

// jumpTarget is the first address of a line; 0 if there is none.
func jumpTarget(fields []string) uint64 {
	for _, f := range fields {
		if at := parseAddress(f); at > 0 {
			return at
		}
	}
	return 0
}

// parseAddress is what a field says; 0 if that is no address.
func parseAddress(field string) uint64 {
	digits, ok := strings.CutPrefix(field, "0x")
	if !ok {
		return 0
	}
	at, _ := strconv.ParseUint(digits, 16, 64)
	return at
}

// loopStreams are the misses within loops, and the sum over them of the logarithm (to base
// two) of how many instructions of the innermost loop share them. One that has few of the
// misses counts less than one that has as many as the others.
func (p codeProfile) loopStreams() (octaves, misses float64) {
	heads := slices.Sorted(maps.Keys(p.loops))
	type shared struct{ sum, squares float64 }
	loops := make([]shared, len(heads))
	for _, at := range slices.Sorted(maps.Keys(p.misses)) {
		for i := len(heads) - 1; i >= 0; i-- {
			if m := p.misses[at]; heads[i] <= at && at <= p.loops[heads[i]] {
				loops[i].sum, loops[i].squares = loops[i].sum+m, loops[i].squares+m*m
				break
			}
		}
	}
	for _, l := range loops {
		if l.squares > 0 {
			octaves += l.sum * math.Log2(min(l.sum*l.sum/l.squares, mostStreams))
			misses += l.sum
		}
	}
	return octaves, misses
}
