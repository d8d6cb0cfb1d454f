package native

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/sched/redist"
)

// SRSMethod is the method for programs that save what they have registered with SRS when the
// page of the program interface says so, each process a part of its own.
func SRSMethod(o Options) checkpoint.Method { return method{bySRS, o} }

// What a program with SRS finds in its environment.
const (
	srsVariable      = "GODWIT_SRS"       // the folder of its checkpoints
	srsFirstVariable = "GODWIT_SRS_FIRST" // the serial of the one that its attempt began with; 0: none
)

// Names in that folder: a folder for each checkpoint, called by its serial number, with
const (
	srsMap   = "map"   // written last
	srsTaken = "taken" // by us: the program may go on
)

// srsFolder is the folder of a program's checkpoints.
type srsFolder struct {
	dir   string
	taken int64 // serial of the last one that was taken, or that the program began with
}

// prepareSRS makes the folder, with what the program is to continue from.
func (r *run) prepareSRS(image string) error {
	r.srs = srsFolder{dir: filepath.Join(r.program.Scratch, "srs")}
	if err := errors.Join(os.RemoveAll(r.srs.dir), os.MkdirAll(r.srs.dir, 0o700)); err != nil {
		return err
	}
	if image != "" {
		m, err := checkParts(image)
		if err != nil {
			return fmt.Errorf("the image is damaged: %w", err)
		}
		r.srs.taken = m.Serial
		if err := linkParts(image, r.srs.path(m.Serial), m); err != nil {
			return err
		}
	}
	r.spec.Env = append(slices.Clone(r.spec.Env), srsVariable+"="+r.srs.dir,
		fmt.Sprintf("%s=%d", srsFirstVariable, r.srs.taken))
	return nil
}

func partName(p int) string { return "part." + strconv.Itoa(p) }

// linkParts has another folder hold the files of a checkpoint, too.
func linkParts(from, to string, m redist.DataMap) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	names := make([]string, m.Procs)
	for p := range names {
		names[p] = partName(p)
	}
	for _, name := range append(names, srsMap) { // the map last: it says that all is there
		if os.Link(filepath.Join(from, name), filepath.Join(to, name)) == nil {
			continue
		}
		if _, err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// checkParts reads the map of a checkpoint and looks whether its parts are those that it tells of.
func checkParts(dir string) (redist.DataMap, error) {
	text, err := os.ReadFile(filepath.Join(dir, srsMap))
	if err != nil {
		return redist.DataMap{}, err
	}
	m, err := redist.ParseDataMap(string(text))
	for p := 0; err == nil && p < m.Procs; p++ {
		err = checkPart(filepath.Join(dir, partName(p)), m.Parts[p])
	}
	return m, err
}

// maxHead is far above what the head of a part has.
const maxHead = 1 << 30

// checkPart looks at the size and the head of a part. What it holds has checksums in the head, which
// the program looks at when it reads, and the depot has its own.
func checkPart(path string, want redist.PartFile) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	var begin [16]byte
	if _, err := io.ReadFull(f, begin[:]); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	bytes := int64(binary.LittleEndian.Uint32(begin[12:]))
	info, err := f.Stat()
	if err != nil || info.Size() != want.Bytes || bytes < int64(len(begin))+4 || bytes > min(want.Bytes, maxHead) {
		return fmt.Errorf("%s has %d bytes, not %d", filepath.Base(path), info.Size(), want.Bytes)
	}
	head := make([]byte, bytes-4)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	if crc := crc32.Checksum(head, crc32.MakeTable(crc32.Castagnoli)); crc != want.CRC {
		return fmt.Errorf("the checksum of %s is %08x, not %08x", filepath.Base(path), crc, want.CRC)
	}
	return nil
}

// newestSRS is the newest whole checkpoint that was not taken yet.
func (f srsFolder) newestSRS() (serial int64, ok bool) {
	list, err := os.ReadDir(f.dir)
	if err != nil {
		return 0, false
	}
	for _, e := range list {
		n, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || n <= max(serial, f.taken) {
			continue
		}
		if _, err := os.Stat(filepath.Join(f.dir, e.Name(), srsMap)); err == nil {
			serial, ok = n, true
		}
	}
	return serial, ok
}

func (f srsFolder) path(serial int64) string {
	return filepath.Join(f.dir, strconv.FormatInt(serial, 10))
}

// hasLeft says whether the program has saved itself because it was to stop.
func (f srsFolder) hasLeft() bool {
	serial, ok := f.newestSRS()
	if !ok {
		return false
	}
	m, err := checkParts(f.path(serial))
	return err == nil && m.Stop
}

// awaitParts waits until the program has written a checkpoint: it then ends, or stands still until
// that is taken, and is stopped.
func (r *run) awaitParts(ctx context.Context, waiting <-chan *standing) (*standing, error) {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case st := <-waiting:
			return st, nil
		case <-r.done:
			return nil, errEnded
		case <-ctx.Done():
			return nil, fmt.Errorf("the program has not saved itself at a call of SRS_Check_Stop: %w", ctx.Err())
		case <-tick.C:
		}
		serial, ok := r.srs.newestSRS()
		if !ok {
			continue
		}
		m, err := checkParts(r.srs.path(serial))
		switch {
		case errors.Is(err, os.ErrNotExist): // it has not waited for us
		case err != nil:
			return nil, fmt.Errorf("what the program has saved is damaged: %w", err)
		case m.Stop: // it is about to end
		default:
			if err := r.tree.StopAll(ctx); err != nil {
				return nil, err
			}
			if again, ok := r.srs.newestSRS(); ok && again == serial {
				return nil, nil
			}
			r.tree.ContinueAll()
		}
	}
}

// takeParts takes the newest checkpoint for an image; older ones are not needed any more.
func (r *run) takeParts(image string) error {
	serial, ok := r.srs.newestSRS()
	if !ok {
		return errors.New("the program has not saved itself")
	}
	from := r.srs.path(serial)
	m, err := checkParts(from)
	if err == nil {
		err = linkParts(from, image, m)
	}
	if err != nil {
		return fmt.Errorf("taking what the program has saved: %w", err)
	}
	r.mu.Lock()
	r.srs.taken = serial
	r.mu.Unlock()
	list, err := os.ReadDir(r.srs.dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && n < serial {
			_ = os.RemoveAll(r.srs.path(n)) // the next one tries again
		}
	}
	return nil
}

// letGoOn tells the program that waits for it that its checkpoint was taken, or is not wanted.
func (r *run) letGoOn() {
	if list, err := os.ReadDir(r.srs.dir); err == nil {
		for _, e := range list {
			_ = os.WriteFile(filepath.Join(r.srs.dir, e.Name(), srsTaken), nil, 0o600) // it does not wait for ever
		}
	}
}
