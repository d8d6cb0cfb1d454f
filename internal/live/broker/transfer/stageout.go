package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker/replica"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// canLeave says what is wrong with where results are to be left.
func (m *Mover) canLeave(ctx context.Context, spec *jobfile.Job) error {
	for i := range spec.Leave {
		f := &spec.Leave[i]
		site, _ := f.SiteAndPath()
		c := m.grid.ClusterNamed(site)
		if c == nil {
			return &badinput.Error{Field: "outputs", Value: f.To,
				Problem: badinput.UnknownName("cluster", site, m.grid.OfferedNames())}
		}
		if _, ok := m.stagerFor(ctx, c).(driver.Placer); !ok {
			return &badinput.Error{Field: "outputs", Value: f.To, Want: "a cluster whose files can be reached"}
		}
	}
	return nil
}

// OutgoingFolder is where an agent in a cluster puts results that are to be left somewhere; "" if they have to come
// home.
func (m *Mover) OutgoingFolder(ctx context.Context, c *Cluster) string {
	files, ok := m.stagerFor(ctx, c).(driver.Placer)
	if !ok {
		return ""
	}
	if here, ok := files.(interface{ OutgoingFolder() string }); ok {
		return here.OutgoingFolder()
	}
	return wire.FillInAtSite
}

// LeaveResults leaves what a job set aside in a folder of its cluster at the clusters that its user named. It is
// repeated after a crash: putting a file there twice is putting it there once.
func (m *Mover) LeaveResults(ctx context.Context, j Job, results []jobfile.FarOutput, cluster, folder string) error {
	var errs []error
	for i := range results {
		l := &leaving{j: j, FarOutput: results[i], path: filepath.Join(folder, strconv.Itoa(i)),
			from: m.grid.ClusterNamed(cluster)}
		site, at := l.SiteAndPath()
		l.to, l.at = m.grid.ClusterNamed(site), at
		if err := m.leaveResult(ctx, l); err != nil {
			errs = append(errs, fmt.Errorf("%s to %s: %w; it lies at %s:%s", l.From, l.To, err, cluster, l.path))
		}
	}
	return errors.Join(errs...)
}

// maxTries is how often leaving a result is tried for reasons other than that a cluster is out of reach.
const maxTries = 3

// leaving is a result on its way.
type leaving struct {
	jobfile.FarOutput
	j        Job
	path     string // at from
	from, to *Cluster
	at       string // at to
}

// leaveResult puts a result where it belongs. A cluster that is out of reach is waited
// for.
func (m *Mover) leaveResult(ctx context.Context, l *leaving) error {
	if l.from == nil || l.to == nil {
		return errors.New("there is no such cluster any more")
	}
	said := ""
	for wait, n := time.Second, 1; ; wait = min(2*wait, 30*time.Second) {
		err := m.leaveOnce(ctx, l)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case IsHopeless(err):
			return err
		case errors.Is(err, driver.ErrAway):
		case n == maxTries:
			return err
		default:
			n++
		}
		if said != err.Error() {
			said = err.Error()
			l.j.ExplainMove("results", l.From+" waits for "+l.to.Name, said)
		}
		if !clock.SleepContext(ctx, wait) {
			return ctx.Err()
		}
	}
}

func (m *Mover) leaveOnce(ctx context.Context, l *leaving) error {
	from, ok1 := m.stagerFor(ctx, l.from).(driver.Placer)
	to, ok2 := m.stagerFor(ctx, l.to).(driver.Placer)
	if !ok1 || !ok2 {
		return fs.ErrInvalid // the settings are others now
	}
	began := m.grid.CurrentTime()
	f, err := from.StatFile(ctx, l.path)
	none := errors.Is(err, fs.ErrNotExist) // there was none, or it was left before
	if err != nil && !none {
		return err
	}
	moved, how := driver.Moved{Bytes: f.Size}, "at the same site"
	var placed []driver.Placed
	switch {
	case l.from.Site == l.to.Site:
		// Also if there is none: one that was cut off while it took its place is gone
		// from where it was. The cluster that set it aside knows it as its own.
		placed, err = from.PlaceResults(ctx, driver.ResultPlacement{Path: l.path, To: l.at})
		if none && len(placed) == 0 {
			return err
		}
	case none:
		return nil
	default:
		if moved, how, err = m.bringToSite(ctx, l, from, to, f.Size); err != nil {
			return err
		}
		defer m.grid.GrantTrees(ctx, l.to.Name, moved.Tree)()
		if placed, err = to.PlaceResults(ctx, driver.ResultPlacement{Tree: moved.Tree, To: l.at}); err == nil {
			m.dropOutgoing(ctx, l.from.Name, l.path) // else it would come again after a crash
		}
	}
	if err != nil {
		return err
	}
	for _, x := range placed {
		if none {
			moved.Bytes += x.Size // of what was left of it
		}
		if x.Tree != "" {
			m.replicasOf(ctx).NoteUse(replica.Record{Site: l.to.Site, Path: x.Path, Size: x.Size, ModTime: x.ModTime,
				Tree: x.Tree, At: []string{l.to.Name}, Elsewhere: true, Used: m.grid.CurrentTime()})
		}
	}
	took := m.grid.CurrentTime().Sub(began)
	l.j.NoteMove(Report{Subject: "results", Choice: l.From + " is left at " + l.To, Recorded: true,
		Why: fmt.Sprintf("%s in %s s, %s", core.FormatBytes(moved.Bytes), core.FormatDigits(took.Seconds()), how),
		Transfer: history.Transfer{What: history.StageOut, From: l.from.Name, To: l.to.Name, Bytes: moved.Bytes,
			Sent: moved.Sent, Seconds: took.Seconds()}})
	return nil
}

// bringToSite brings a result to the site where it is to be left, directly if that is
// fastest, and says how.
func (m *Mover) bringToSite(ctx context.Context, l *leaving, from, to driver.Placer,
	size int64) (driver.Moved, string, error) {
	in := &store.Input{Input: wire.Input{Path: l.path}, Site: l.from.Name, Size: size}
	if s := m.inputSources(ctx, m.transferRows(ctx), in, l.to)[0]; s.from != nil {
		got, err := m.fetchTree(ctx, &s, l.to)
		if err == nil || ctx.Err() != nil || errors.Is(err, driver.ErrAway) || IsHopeless(err) {
			return got.Moved, "from " + l.from.Name + ", without the broker in between", err
		}
	}
	moved, err := from.PushFiles(ctx, l.path)
	if err == nil && l.to.Site != "" {
		defer m.grid.GrantTrees(ctx, l.to.Name, moved.Tree)()
		_, err = to.BringTree(ctx, moved.Tree)
	}
	return moved, "through the broker", err
}

// dropOutgoing removes what has been left where it belongs. What stays goes when
// the attempt is released once more.
func (m *Mover) dropOutgoing(ctx context.Context, cluster, path string) {
	c := m.grid.ClusterNamed(cluster)
	if path == "" || c == nil {
		return
	}
	if files, ok := m.stagerFor(ctx, c).(driver.Placer); ok {
		if err := files.DropResults(ctx, path); err != nil {
			m.log.Warn("results that were left elsewhere stay", "cluster", cluster, "path", path, "error", err)
		}
	}
}

// DropSetAside removes what an attempt set aside in a cluster under a name. A cluster that is out of reach is waited
// for. It reports false if ctx ends meanwhile.
func (m *Mover) DropSetAside(ctx context.Context, c *Cluster, name string) bool {
	files, ok := m.stagerFor(ctx, c).(driver.Placer)
	if !ok {
		return true
	}
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		err := files.DropResults(ctx, name)
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
		case !errors.Is(err, driver.ErrAway):
			m.log.Warn("results that nobody asks for stay", "cluster", c.Name, "name", name, "error", err)
			return true
		case !clock.SleepContext(ctx, wait):
			return false
		}
	}
}
