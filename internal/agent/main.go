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

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Main runs the attempt in the folder dir to its end, then those that the driver
// hands to us, if it does, and returns the exit code of this process: 0 also if a
// program fails, since that is told to the broker.
func Main(dir string) int {
	line := openLine(dir)
	dir = strings.Clone(dir) // the line writes over it
	modest()
	// Whoever asks us to go gets an orderly departure. Hangups and broken pipes
	// are not for us; caught and not ignored, so that the program finds them as
	// usual.
	leave := make(chan os.Signal, 1)
	signal.Notify(leave, unix.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGPIPE)
	ar := &around{
		clock: clock.Real(), log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		methods: methodsHere, depot: depotOf, signals: leave,
		usage:        func(mark string) proctree.Usage { return proctree.Of(mark).Usage() },
		kill:         proctree.KillLeftovers,
		sentry:       sentryTime,
		pulse:        pulseOf,
		free:         freeSpace,
		held:         func(mark string) int64 { return proctree.Of(mark).Memory() },
		oom:          oomKills,
		spent:        spentByChildren,
		adopt:        func(mark string, pid int) error { return proctree.Of(mark).Adopt(pid) },
		spoolSegment: 1 << 20, spoolLimit: 256 << 20,
		firstTry: 50 * time.Millisecond, longestTry: time.Second, grace: 20 * time.Second,
	}
	if err := errors.Join(proctree.BecomeSubreaper(), proctree.CloseInheritedOnExec()); err != nil {
		fmt.Fprintln(os.Stderr, "godwit agent:", err)
		return 1
	}
	for dir != "" {
		through, err := ar.attend(folder{dir})
		if err != nil {
			fmt.Fprintln(os.Stderr, "godwit agent:", err)
			return 1
		}
		if !through || proctree.HaveChildren() {
			break
		}
		dir = line.next(leave)
	}
	return 0
}

// modest keeps us small: the machine belongs to the program.
func modest() {
	runtime.GOMAXPROCS(min(2, runtime.NumCPU()))
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(96 << 20)
}

// attend takes the attempt's folder and does what it asks for. It reports whether
// all was told, so that nothing of the attempt is left.
func (ar *around) attend(dir folder) (through bool, err error) {
	lock, err := dir.lock()
	if err != nil {
		return false, err
	}
	if lock == nil {
		return false, nil // another agent is at it
	}
	defer lock.Close() //nolint:errcheck // the lock goes with the open file
	if dir.fenced() || dir.known() {
		return false, nil
	}
	a, err := dir.attempt()
	if err != nil {
		return false, err
	}
	earlier, err := dir.generation()
	if err != nil {
		return false, err
	}
	defer proctree.Of(a.Mark).Close()
	l := newLife(ar, dir, a, earlier)
	if why := dir.lost(); earlier == 0 && why != "" {
		l.conclude(wire.Message{Kind: wire.Lost, Why: why, State: lostVitals()})
	} else if earlier > 0 {
		if err := l.takeOverFrom(earlier); err != nil {
			return false, err
		}
	} else if err := dir.begin(1); err != nil {
		// What cannot be remembered must not be started.
		l.finish(wire.Message{Kind: wire.Lost, Why: err.Error()})
	} else {
		l.surround()
		l.expectEviction()
		l.start(false)
	}
	l.live()
	return l.phase == told && l.quit == nil && dir.known(), nil
}

// surround applies what the attempt says of nice value and cgroup.
func (l *life) surround() {
	if n := l.attempt.Nice; n != 0 {
		if err := niceAll(n); err != nil {
			l.around.log.Warn("nice value not set", "error", err)
		}
	}
	if s := l.attempt.Cgroup; s != "" {
		g, err := cgroup.Open(s)
		if err != nil {
			l.around.log.Warn("cgroup not used", "error", err)
			return
		}
		proctree.Of(l.attempt.Mark).UseCgroup(g)
	}
}

// niceAll sets the nice value of all our threads, which those to come, and the
// program, inherit.
func niceAll(n int) error {
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
func depotOf(broker string) warehouse {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return rendezvous.Dial(ctx, broker)
		},
		MaxIdleConns: 4, IdleConnTimeout: 10 * time.Second,
	}
	return depot.NewClient(&http.Client{Transport: t}, "http://broker"+wire.Depot)
}
