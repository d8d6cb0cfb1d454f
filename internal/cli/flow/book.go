package flow

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
)

// flowBook is the key with which a file was submitted last, in the user's state folder. All
// else is in the broker's store.
type flowBook struct {
	ID    string    `json:"id"` // the key
	File  string    `json:"file"`
	Sum   string    `json:"sum"` // of what the file said then
	Began time.Time `json:"began"`
	Over  bool      `json:"over"` // all went well

	path    string
	lock    *os.File
	content string // the sum of what it says now
	again   bool   // that workflow is to go on
}

// lockFile takes a lock that ends with the process.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openFlowBook finds what is known of a file. Two at a time that submit the same file would
// be in each other's way.
func (a *app) openFlowBook(file string, burn float64) (*flowBook, error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(full)
	if err != nil {
		return nil, err
	}
	state, err := api.StateDir()
	if err != nil {
		return nil, err
	}
	sum := func(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:12]) }
	book := &flowBook{path: filepath.Join(state, "flows", sum([]byte(full))+".json")}
	if err := os.MkdirAll(filepath.Dir(book.path), 0o700); err != nil {
		return nil, err
	}
	if book.lock, err = lockFile(book.path + ".lock"); err != nil {
		return nil, &badinput.Error{File: file, Problem: "another godwit flow run or submit is submitting this workflow",
			Err: err}
	}
	if old, err := os.ReadFile(book.path); err != nil || json.Unmarshal(old, book) != nil {
		book.ID = "" // nothing is known
	}
	book.File, book.content = full, sum(append(data, fmt.Sprintf(" burn %v", burn)...))
	return book, nil
}

// chooseRun finds what to do with a file: follow a workflow that is not over, whose number it
// returns, have one go on, or begin anew.
func (a *app) chooseRun(ctx context.Context, c *api.Client, file string, book *flowBook, fresh bool) (int64, error) {
	if book.ID == "" || book.Over {
		return 0, book.beginAnew(a.Now())
	}
	flow, err := c.GetFlow(ctx, "key:"+book.ID)
	isKnown := err == nil
	if err != nil && !badinput.Is(err) {
		return 0, err
	}
	began := book.Began.Format("2006-01-02 15:04:05")
	switch changed := book.Sum != book.content; {
	case isKnown && !flow.IsOver() && (fresh || changed):
		why := "--fresh begins another"
		if changed {
			why = "the file has changed since"
		}
		return 0, &badinput.Error{File: file,
			Problem: fmt.Sprintf("workflow %d of this file is not over, and %s; end it first with: godwit flow cancel %d",
				flow.ID, why, flow.ID)}
	case isKnown && !flow.IsOver():
		a.SayLine(fmt.Sprintf("workflow %d of this file was submitted at %s and is not over", flow.ID, began))
		return flow.ID, nil
	case fresh || isKnown && flow.State == "completed":
		return 0, book.beginAnew(a.Now())
	case changed:
		a.SayLine("the run of " + began + " is not done, but " + file + " has changed since: beginning anew")
		return 0, book.beginAnew(a.Now())
	}
	a.SayLine("resuming the run of " + began + " (--fresh starts from the beginning)")
	book.again = true
	return 0, nil
}

// beginAnew makes up another key.
func (b *flowBook) beginAnew(now time.Time) error {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	b.ID, b.Sum, b.Began, b.Over, b.again = hex.EncodeToString(id[:]), b.content, now, false, false
	return b.writeBook()
}

func (b *flowBook) writeBook() error {
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	f, err := outfile.Create(b.path)
	if err != nil {
		return err
	}
	defer f.Discard()
	return commitFile(f, data)
}

// recordDone keeps that all went well, unless the file was submitted once more meanwhile.
func (b *flowBook) recordDone() error {
	var now flowBook
	if data, err := os.ReadFile(b.path); err != nil || json.Unmarshal(data, &now) != nil || now.ID != b.ID {
		return nil //nolint:nilerr // it tells of another
	}
	b.Over = true
	return b.writeBook()
}

func (b *flowBook) closeBook() { _ = b.lock.Close() } // and with it the lock
