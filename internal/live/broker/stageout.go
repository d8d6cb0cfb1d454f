package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
func (b *Broker) canLeave(ctx context.Context, spec *jobfile.Job) error {
	for i := range spec.Leave {
		f := &spec.Leave[i]
		site, _ := f.SiteAndPath()
		c := b.clusterNamed(site)
		if c == nil {
			return &badinput.Error{Field: "outputs", Value: f.To,
				Problem: badinput.UnknownName("cluster", site, b.clusterNames())}
		}
		if _, ok := b.stagerFor(ctx, c).(driver.Placer); !ok {
			return &badinput.Error{Field: "outputs", Value: f.To, Want: "a cluster whose files can be reached"}
		}
	}
	return nil
}

// outgoingFolder is where an agent puts results that are to be left somewhere; "" if
// there are none, or they have to come home.
func (b *Broker) outgoingFolder(j *job, c *cluster) string {
	if len(j.spec.Leave) == 0 {
		return ""
	}
	files, ok := b.stagerFor(j.asOwner(b.ctx), c).(driver.Placer)
	if !ok {
		return ""
	}
	if here, ok := files.(interface{ OutgoingFolder() string }); ok {
		return here.OutgoingFolder()
	}
	return wire.FillInAtSite
}

// leaveAll leaves results at the clusters that their user named. It is repeated
// after a crash: putting a file there twice is putting it there once.
func (b *Broker) leaveAll(ctx context.Context, j *job) error {
	if j.rec.Outgoing == "" {
		return nil
	}
	var errs []error
	for i := range j.spec.Leave {
		l := &leaving{j: j, FarOutput: j.spec.Leave[i], path: filepath.Join(j.rec.Outgoing, strconv.Itoa(i)),
			from: b.clusterNamed(j.rec.Cluster)}
		site, at := l.SiteAndPath()
		l.to, l.at = b.clusterNamed(site), at
		if err := b.leaveResult(ctx, l); err != nil {
			errs = append(errs, fmt.Errorf("%s to %s: %w; it lies at %s:%s", l.From, l.To, err, j.rec.Cluster, l.path))
		}
	}
	j.left = len(errs) == 0
	return errors.Join(errs...)
}

// leaving is a result on its way.
type leaving struct {
	jobfile.FarOutput
	j        *job
	path     string // at from
	from, to *cluster
	at       string // at to
}

// leaveResult puts a result where it belongs. A cluster that is out of reach is waited
// for.
func (b *Broker) leaveResult(ctx context.Context, l *leaving) error {
	if l.from == nil || l.to == nil {
		return errors.New("there is no such cluster any more")
	}
	said := ""
	for wait, n := time.Second, 1; ; wait = min(2*wait, 30*time.Second) {
		err := b.leaveOnce(ctx, l)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case isHopeless(err):
			return err
		case errors.Is(err, driver.ErrAway):
		case n == maxTries:
			return err
		default:
			n++
		}
		if said != err.Error() {
			said = err.Error()
			b.postToLoop(func(t *turn) { t.explainJob(l.j, "results", l.From+" waits for "+l.to.Name, said, nil) })
		}
		if !clock.SleepContext(ctx, wait) {
			return ctx.Err()
		}
	}
}

func (b *Broker) leaveOnce(ctx context.Context, l *leaving) error {
	from, ok1 := b.stagerFor(ctx, l.from).(driver.Placer)
	to, ok2 := b.stagerFor(ctx, l.to).(driver.Placer)
	if !ok1 || !ok2 {
		return fs.ErrInvalid // the settings are others now
	}
	began := b.brokerTime()
	f, err := from.StatFile(ctx, l.path)
	none := errors.Is(err, fs.ErrNotExist) // there was none, or it was left before
	if err != nil && !none {
		return err
	}
	m, how := driver.Moved{Bytes: f.Size}, "at the same site"
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
		if m, how, err = b.bringToSite(ctx, l, from, to, f.Size); err != nil {
			return err
		}
		defer b.grant(ctx, l.to.Name, m.Tree)()
		if placed, err = to.PlaceResults(ctx, driver.ResultPlacement{Tree: m.Tree, To: l.at}); err == nil {
			b.dropOutgoing(ctx, l.from.Name, l.path) // else it would come again after a crash
		}
	}
	if err != nil {
		return err
	}
	for _, x := range placed {
		if none {
			m.Bytes += x.Size // of what was left of it
		}
		if x.Tree != "" {
			b.replicasOf(ctx).NoteUse(replica.Record{Site: l.to.Site, Path: x.Path, Size: x.Size, ModTime: x.ModTime,
				Tree: x.Tree, At: []string{l.to.Name}, Elsewhere: true, Used: b.brokerTime()})
		}
	}
	took := b.brokerTime().Sub(began)
	b.postToLoop(func(t *turn) {
		t.explainJob(l.j, "results", l.From+" is left at "+l.To,
			fmt.Sprintf("%s in %s s, %s", core.FormatBytes(m.Bytes), formatSeconds(took.Seconds()), how),
			map[string]any{"bytes": m.Bytes, "sent": m.Sent, "seconds": took.Seconds()})
		t.recordTransfer(l.j, history.Transfer{What: history.StageOut, From: l.from.Name, To: l.to.Name, Bytes: m.Bytes,
			Sent: m.Sent, Seconds: took.Seconds()})
		t.keepReplicas()
	})
	return nil
}

// bringToSite brings a result to the site where it is to be left, directly if that is
// fastest, and says how.
func (b *Broker) bringToSite(ctx context.Context, l *leaving, from, to driver.Placer,
	size int64) (driver.Moved, string, error) {
	in := &store.Input{Input: wire.Input{Path: l.path}, Site: l.from.Name, Size: size}
	if s := b.inputSources(ctx, b.transferRows(ctx), in, l.to)[0]; s.from != nil {
		got, err := b.fetchTree(ctx, &s, l.to)
		if err == nil || ctx.Err() != nil || errors.Is(err, driver.ErrAway) || isHopeless(err) {
			return got.Moved, "from " + l.from.Name + ", without the broker in between", err
		}
	}
	m, err := from.PushFiles(ctx, l.path)
	if err == nil && l.to.Site != "" {
		defer b.grant(ctx, l.to.Name, m.Tree)()
		_, err = to.BringTree(ctx, m.Tree)
	}
	return m, "through the broker", err
}

// dropOutgoing removes what has been left where it belongs. What stays goes when
// the attempt is released once more.
func (b *Broker) dropOutgoing(ctx context.Context, cluster, path string) {
	c := b.clusterNamed(cluster)
	if path == "" || c == nil {
		return
	}
	if files, ok := b.stagerFor(ctx, c).(driver.Placer); ok {
		if err := files.DropResults(ctx, path); err != nil {
			b.opt.Log.Warn("results that were left elsewhere stay", "cluster", cluster, "path", path, "error", err)
		}
	}
}

// dropSetAside removes what an attempt that is over set aside: nobody asks for it
// any more, unless it is still to be left where it belongs, or could not be. A
// cluster that is out of reach is waited for. It reports false if the broker ends
// meanwhile.
func (b *Broker) dropSetAside(j *job, c core.Command) bool {
	var rec store.Job
	if b.askLoop(b.ctx, func(*turn) { rec = j.rec }) != nil {
		return false
	}
	if j.spec == nil { // it is over, and only the outbox knows of it
		known, err := b.opt.Store.FindJob(b.ctx, strconv.FormatInt(int64(c.Job), 10))
		if err != nil {
			return errors.Is(err, store.ErrNoJob)
		}
		rec = *known
	}
	name := fmt.Sprintf("%d.%d", c.Job, c.Epoch) // as agents call it
	i := slices.IndexFunc(b.allClusters(), func(x *cluster) bool { return x.id == c.Cluster })
	if i < 0 || rec.Spec == nil || len(rec.Spec.Leave) == 0 || filepath.Base(rec.Outgoing) == name {
		return true
	}
	ctx := WithUser(b.ctx, ownerOf(&rec))
	files, ok := b.stagerFor(ctx, b.allClusters()[i]).(driver.Placer)
	if !ok {
		return true
	}
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		err := files.DropResults(ctx, name)
		switch {
		case err == nil:
			return true
		case b.ctx.Err() != nil:
			return false
		case !errors.Is(err, driver.ErrAway):
			b.opt.Log.Warn("results that nobody asks for stay", "cluster", b.allClusters()[i].Name, "name", name, "error", err)
			return true
		case !clock.SleepContext(b.ctx, wait):
			return false
		}
	}
}

// tidyOutgoing has what lay at the cluster of a job removed, now that it is where
// it belongs. It goes through the outbox: the cluster may be out of reach.
func (t *turn) tidyOutgoing(j *job) {
	if j.left {
		j.rec.Outgoing = ""
		t.releaseEnded(j, j.rec.Epoch)
	}
}

// oneLine is an error as it stands in a reason.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
