package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/linefile"
)

// register remembers the attempts that may be known over there: a line in a file
// for each that is about to be sent, and one for each that was released. A line
// that a crash cut off was followed by nothing, so nothing was sent.
type register struct {
	mu    sync.Mutex
	file  *linefile.File // nil: only memory
	known map[driver.ID]bool
}

// openRegister reads the file and writes it anew without what is past.
func openRegister(path string) (*register, error) {
	r := &register{known: map[driver.ID]bool{}}
	if path == "" {
		return r, nil
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r.known = parseRegister(data)
	var text bytes.Buffer
	for id := range r.known { // order-free: a set
		text.WriteString("+" + attemptdir.FolderName(id) + "\n")
	}
	if r.file, err = linefile.ReplaceFile(path, text.Bytes()); err != nil {
		return nil, err
	}
	return r, nil
}

// parseRegister reads the lines that are whole.
func parseRegister(data []byte) map[driver.ID]bool {
	known := map[driver.ID]bool{}
	end := bytes.LastIndexByte(data, '\n')
	for line := range strings.Lines(string(data[:end+1])) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		id, ok := attemptdir.ParseName(line[1:])
		switch {
		case !ok:
		case line[0] == '+':
			known[id] = true
		case line[0] == '-':
			delete(known, id)
		}
	}
	return known
}

// mayKnow says that the attempt may be known over there.
func (r *register) mayKnow(id driver.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[id]
}

func (r *register) isEmpty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.known) == 0
}

// SentAttempts lists the attempts that, as a file of that name remembers, may be known at
// the other end.
func SentAttempts(file string) (map[driver.ID]bool, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return parseRegister(data), err
}

// isUnsent says that it is certainly not.
func (r *register) isUnsent(id driver.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file != nil && !r.known[id]
}

// errRegister says that something cannot be remembered, so it must not be sent.
var errRegister = errors.New("it cannot be remembered what was sent")

// addAttempt remembers that the attempt is about to be sent, safely.
func (r *register) addAttempt(id driver.ID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[id] {
		return nil
	}
	if r.file != nil {
		if err := r.file.AppendSafely("+" + attemptdir.FolderName(id) + "\n"); err != nil {
			return fmt.Errorf("%w: %w", errRegister, err)
		}
	}
	r.known[id] = true
	return nil
}

// removeAttempt forgets an attempt that was released. That this could not be written
// down costs nothing but a release too many.
func (r *register) removeAttempt(id driver.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[id] && r.file != nil {
		_ = r.file.AppendLine("-" + attemptdir.FolderName(id) + "\n")
	}
	delete(r.known, id)
}

func (r *register) closeFile() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
