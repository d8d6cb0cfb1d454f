package attemptdir

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/linefile"
)

// How long, and of how many attempts, it is known that they were released:
// longer than any repeated Start can be late.
const (
	rememberFor = 24 * time.Hour
	rememberMax = 100_000
)

// register knows which attempts were released, across restarts: a line in a
// file for each. A line that a crash cut off is as if it had not been written;
// then Release did not return either.
type register struct {
	mu    sync.Mutex
	file  *linefile.File
	known map[driver.ID]bool
	owed  []string // lines that a full disk did not take
}

// openRegister reads the file and writes it anew without what is too old.
func openRegister(path string, now time.Time) (*register, error) {
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	r := &register{known: map[driver.ID]bool{}}
	ids, times := parseRegister(data)
	var kept bytes.Buffer
	for i, id := range ids {
		if age := now.Sub(times[i]); age < rememberFor && len(ids)-i <= rememberMax {
			r.known[id] = true
			kept.WriteString(registerLine(id, times[i]))
		}
	}
	if bytes.Equal(kept.Bytes(), data) {
		r.file, err = linefile.Open(path)
	} else {
		r.file, err = linefile.ReplaceFile(path, kept.Bytes())
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func registerLine(id driver.ID, at time.Time) string {
	return fmt.Sprintf("%s %d\n", FolderName(id), at.Unix())
}

// parseRegister reads the lines that are whole.
func parseRegister(data []byte) (ids []driver.ID, times []time.Time) {
	if end := bytes.LastIndexByte(data, '\n'); end < len(data)-1 {
		data = data[:end+1]
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		name, at, _ := strings.Cut(lines.Text(), " ")
		id, ok := ParseName(name)
		seconds, err := strconv.ParseInt(at, 10, 64)
		if ok && err == nil {
			ids, times = append(ids, id), append(times, time.Unix(seconds, 0))
		}
	}
	return ids, times
}

func (r *register) hasAttempt(id driver.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[id]
}

// addAttempt remembers an attempt. That it could not be written down is told, but known
// it is, and written with the next.
func (r *register) addAttempt(id driver.ID, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known[id] {
		r.known[id] = true
		r.owed = append(r.owed, registerLine(id, now))
	}
	for len(r.owed) > 0 {
		if err := r.file.AppendLine(r.owed[0]); err != nil {
			return err
		}
		r.owed = r.owed[1:]
	}
	return nil
}

func (r *register) closeFile() error { return r.file.Close() }
