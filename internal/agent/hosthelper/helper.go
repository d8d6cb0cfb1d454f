package hosthelper

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/parallel"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
)

// Command is the command of our binary that is a helper; the word after it is the interval between two readings.
const Command = "host-helper"

// minInterval bounds what a helper costs its host.
const minInterval = 50 * time.Millisecond

// RunHelper says what the processes of an attempt on this host use, on standard output, at every interval, until
// standard input ends or the agent that beats there is silent. The mark of the attempt is the first line of that. It
// returns the exit code of this process.
func RunHelper(interval string) int {
	every, err := time.ParseDuration(interval)
	if err != nil {
		return helperFails(err)
	}
	mark, err := parallel.ReadMark(os.Stdin)
	if err != nil {
		return helperFails(err)
	}
	table, err := ownTable()
	if err != nil {
		return helperFails(err)
	}
	runtime.GOMAXPROCS(1)
	gone := make(chan struct{})
	go func() {
		parallel.AwaitLauncher(os.Stdin)
		close(gone)
	}()
	tree := proctree.MarkedTree(mark)
	out := json.NewEncoder(os.Stdout)
	look := time.NewTicker(max(every, minInterval))
	for {
		r := Reading{Table: table, Usage: tree.ReadUsage()}
		if r.Ranks = RanksAmong(tree.LivePids()); len(r.Ranks) > maxRanksOfHost {
			r.Ranks = r.Ranks[:maxRanksOfHost]
		}
		if err := out.Encode(r); err != nil {
			return 0 // the agent is gone
		}
		select {
		case <-look.C:
		case <-gone:
			return 0
		}
	}
}

func helperFails(err error) int {
	fmt.Fprintln(os.Stderr, "godwit "+Command+":", err)
	return 1
}
