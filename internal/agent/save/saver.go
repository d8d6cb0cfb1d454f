package save

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/agent/output"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Depot takes images and work folders.
type Depot interface {
	depot.Sink
	Traffic() httpdepot.Traffic
}

// Saver saves one program. Only one save runs at a time.
type Saver struct {
	Run     checkpoint.Run
	Pipes   *output.Pipes
	Spool   *output.Spool
	Scratch string // folder for images
	Work    string // the program's folder
	Depot   Depot
	Method  string
	Used    func() (seconds float64, bytes int64) // of the whole job, on the reference host
	Spent   func() (busy, idle float64)           // of the whole job, see wire.Vitals
	Epoch   core.Epoch
	// Exported is what the setup line left, unless the image has it.
	Exported []string
	// Reported is what the program reports, if it will not again when it is continued; nil: it will.
	Reported func() (selfreport.Report, bool)

	Clock     clock.Clock
	FreeSpace func(dir string) (int64, error) // bytes on the disk of a folder
	// RetryAway does something again for as long as the broker cannot be reached.
	RetryAway func(ctx context.Context, do func() error) error

	Size  int64         // of the next image, about
	Image string        // folder of the last image
	Last  time.Duration // when the last save was over
	shot  *depot.Shot
}

// HasEnded says whether the program is gone.
func (s *Saver) HasEnded() bool {
	select {
	case <-s.Run.Done():
		return true
	default:
		return false
	}
}

// WasSaved says whether the program is gone because it was saved.
func (s *Saver) WasSaved() bool { return s.HasEnded() && s.Run.Result().Saved }

// SaveCheckpoint saves the program and brings the image away.
func (s *Saver) SaveCheckpoint(ctx context.Context, n int, stop bool) (*wire.Saved, error) {
	begin := s.Clock()
	s.Image = filepath.Join(s.Scratch, fmt.Sprintf("image.%d", n))
	copied := filepath.Join(s.Scratch, fmt.Sprintf("files.%d", n))
	defer os.RemoveAll(copied) //nolint:errcheck // what is left goes with the folder
	if err := s.hasRoom(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Image, 0o700); err != nil {
		return nil, err
	}
	saved := &wire.Saved{N: n, Epoch: s.Epoch, Method: s.Method, Exported: s.Exported}
	var shot *depot.Shot
	var froze time.Time
	err := s.Run.SaveImage(ctx, s.Image, stop, func() (err error) {
		froze = s.Clock()
		shot, err = s.recordFrozen(saved, copied, stop)
		return err
	})
	if err != nil {
		s.Pipes.ResumeReading()
		_ = os.RemoveAll(s.Image) // it is of no use
		return nil, err
	}
	saved.Frozen = s.Clock.Since(froze)
	err = s.pushCheckpoint(ctx, saved, shot)
	if err == nil || !stop {
		_ = os.RemoveAll(s.Image) // it is in the depot, or not needed
	}
	if err != nil {
		return nil, err
	}
	s.shot = shot
	saved.Took = s.Clock.Since(begin)
	return saved, nil
}

// hasRoom says whether the image will fit. Finding out by filling the disk would
// disturb the program, and others.
func (s *Saver) hasRoom() error {
	const spare = 32 << 20
	if s.Size == 0 {
		return nil
	}
	free, err := s.FreeSpace(s.Scratch)
	if err != nil || free > s.Size+s.Size/8+spare {
		return nil //nolint:nilerr // not known: it will be seen
	}
	return fmt.Errorf("there is no room for an image of about %d MB: %d MB are free on the disk of %s", s.Size>>20,
		free>>20, s.Scratch)
}

// FreeSpace is what an ordinary user may still write to the disk of a folder.
func FreeSpace(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * fs.Bsize, nil
}

// recordFrozen is called while the program stands still.
func (s *Saver) recordFrozen(saved *wire.Saved, copied string, stop bool) (*depot.Shot, error) {
	if stop {
		s.Pipes.PauseReading()
	}
	if err := s.Pipes.DrainPipes(); err != nil {
		return nil, err
	}
	saved.Out, saved.Err = s.Spool.StreamEnds()
	saved.Used, saved.IO = s.Used()
	saved.Busy, saved.Idle = s.Spent()
	if s.Reported != nil {
		r, _ := s.Reported()
		saved.StepsDone, saved.StepsAll = r.Done, r.All
	}
	return depot.TakeSnapshot(s.Work, copied, s.shot)
}

// pushCheckpoint pushes image and work folder to the depot.
func (s *Saver) pushCheckpoint(ctx context.Context, saved *wire.Saved, shot *depot.Shot) error {
	before, tries := s.Depot.Traffic(), 0
	err := s.RetryAway(ctx, func() error {
		tries++
		work, _, stats, err := shot.PushTree(ctx, s.Depot)
		if err != nil {
			return fmt.Errorf("saving the working directory: %w", err)
		}
		saved.Work, saved.Bytes, saved.Moved = string(work), stats.Bytes, saved.Moved+stats.Moved
		list, err := os.ReadDir(s.Image)
		if err != nil || len(list) == 0 {
			return err
		}
		image, _, stats, err := depot.PushFolder(ctx, s.Image, s.Depot, depot.PushOptions{})
		if err != nil {
			return fmt.Errorf("bringing the image away: %w", err)
		}
		saved.Image, saved.Bytes, saved.Moved = string(image), saved.Bytes+stats.Bytes, saved.Moved+stats.Moved
		return nil
	})
	if tries == 1 {
		saved.Sending = s.Depot.Traffic().Since(before).Busy
	}
	return err
}
