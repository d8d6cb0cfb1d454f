package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/agent/report"
	"github.com/godwit-hpc/godwit/internal/agent/save"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// RunAgent is RunReleased for a binary of which nobody knows the release.
func RunAgent(dir string) int { return RunReleased("", dir) }

// RunReleased runs the attempt in the folder dir to its end, then those that the driver
// hands to us, if it does, and returns the exit code of this process: 0 also if a
// program fails, since that is told to the broker. release is that of this binary.
func RunReleased(release, dir string) int {
	line := openLine(dir)
	dir = strings.Clone(dir) // the line writes over it
	limitFootprint()
	// Whoever asks us to go gets an orderly departure. Hangups and broken pipes
	// are not for us; caught and not ignored, so that the program finds them as
	// usual.
	leave := make(chan os.Signal, 1)
	signal.Notify(leave, unix.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGPIPE)
	ar := &hostServices{
		release: release,
		clock:   clock.RealClock(), log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		methods: methodsHere, depot: depotOf, signals: leave,
		usage:        func(mark string) proctree.Usage { return proctree.TreeOf(mark).ReadUsage() },
		kill:         proctree.KillLeftovers,
		sentry:       sentryTime,
		pulse:        pulseOf,
		free:         save.FreeSpace,
		held:         func(mark string) int64 { return proctree.TreeOf(mark).ProportionalMemory() },
		oom:          oomKills,
		memory:       selfreport.MemoryFolder,
		spent:        spentByChildren,
		adopt:        func(mark string, pid int) error { return proctree.TreeOf(mark).AdoptChild(pid) },
		confine:      proctree.ConfineMarked,
		spoolSegment: 1 << 20, spoolLimit: 256 << 20,
		firstTry: 50 * time.Millisecond, longestTry: time.Second, grace: 20 * time.Second,
	}
	if err := errors.Join(proctree.BecomeSubreaper(), proctree.CloseInheritedOnExec()); err != nil {
		fmt.Fprintln(os.Stderr, "godwit agent:", err)
		return 1
	}
	go report.RemoveAbandoned(ar.memory, ar.clock().Add(-abandonedAfter))
	for dir != "" {
		through, err := ar.serveFolder(folder{dir})
		if err != nil {
			fmt.Fprintln(os.Stderr, "godwit agent:", err)
			return 1
		}
		if !through || proctree.HaveChildren() {
			break
		}
		dir = line.nextFolder(leave)
	}
	return 0
}

// abandonedAfter is how long what a program reported is kept for an agent that takes over.
const abandonedAfter = time.Hour

// limitFootprint keeps us small: the machine belongs to the program. The heap may grow to 8 MiB
// before it is collected: an agent that runs one short job after another spent an eighth
// of its time collecting 2 MiB.
func limitFootprint() {
	runtime.GOMAXPROCS(min(2, runtime.NumCPU()))
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(96 << 20)
}

// serveFolder takes the attempt's folder and does what it asks for. It reports whether
// all was told, so that nothing of the attempt is left.
func (ar *hostServices) serveFolder(dir folder) (through bool, err error) {
	lock, err := dir.takeLock()
	if err != nil {
		return false, err
	}
	if lock == nil {
		return false, nil // another agent is at it
	}
	defer lock.Close() //nolint:errcheck // the lock goes with the open file
	if dir.isFenced() || dir.isKnown() {
		return false, nil
	}
	a, err := dir.readAttempt()
	if err != nil {
		return false, err
	}
	earlier, err := dir.readGeneration()
	if err != nil {
		return false, err
	}
	defer proctree.TreeOf(a.Mark).Close()
	l := newLife(ar, dir, a, earlier)
	if why := dir.lostReason(); earlier == 0 && why != "" {
		l.concludeAttempt(wire.Message{Kind: wire.Lost, Why: why, State: lostVitals()})
	} else if earlier > 0 {
		if err := l.takeOverFrom(earlier); err != nil {
			return false, err
		}
	} else if err := dir.markStarted(1); err != nil {
		// What cannot be remembered must not be started.
		l.finishAttempt(wire.Message{Kind: wire.Lost, Why: err.Error()})
	} else {
		l.applyLimits()
		l.expectEviction()
		l.openReport()
		l.startPreparing(false)
	}
	l.runAttempt()
	return l.phase == concluded && l.quit == nil && dir.isKnown(), nil
}

// applyLimits applies what the attempt says of nice value and cgroup.
func (l *life) applyLimits() {
	if n := l.attempt.Nice; n != 0 {
		if err := setNiceAll(n); err != nil {
			l.around.log.Warn("nice value not set", "error", err)
		}
	}
	if s := l.attempt.Cgroup; s != "" {
		g, err := cgroup.OpenGroup(s)
		if err != nil {
			l.around.log.Warn("cgroup not used", "error", err)
			return
		}
		proctree.TreeOf(l.attempt.Mark).UseCgroup(g)
	}
}

// setNiceAll sets the nice value of all our threads, which those to come, and the
// program, inherit.
func setNiceAll(n int) error {
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, e := range list {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			if err := unix.Setpriority(unix.PRIO_PROCESS, tid, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// depotOf is the depot of the broker.
func depotOf(broker string) brokerDepot {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return rendezvous.DialBroker(ctx, broker)
		},
		MaxIdleConns: 4, IdleConnTimeout: 10 * time.Second,
	}
	return depot.NewClient(&http.Client{Transport: t}, "http://broker"+wire.Depot)
}
