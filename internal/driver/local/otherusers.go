package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver/local/load"
)

// otherUsers finds the agents of attempts that the same broker has here as other users:
// what runs below them is no more a stranger than what runs for us.
type otherUsers struct {
	folder string // part of the paths of their folders
	clock  clock.Clock

	mu   sync.Mutex
	at   time.Time
	pids []int
}

// otherUsersInterval is how long what was found is believed: all processes of the machine
// have to be looked at.
const otherUsersInterval = 4 * time.Second

// addOtherUsers adds them to our own.
func (k *otherUsers) addOtherUsers(own []load.OwnAttempt) []load.OwnAttempt {
	if k.folder == "" {
		return own
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() || k.clock.Since(k.at) > otherUsersInterval {
		k.at, k.pids = k.clock(), k.findAgents()
	}
	ours := map[int]bool{}
	for i := range own {
		ours[own[i].Agent] = true
	}
	for _, pid := range k.pids {
		if !ours[pid] {
			own = append(own, load.OwnAttempt{Agent: pid})
		}
	}
	return own
}

// findAgents looks for processes that are called as agents are.
func (k *otherUsers) findAgents() []int {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var list []int
	for _, dir := range entries {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue // it has gone
		}
		words := bytes.Split(bytes.TrimSuffix(line, []byte{0}), []byte{0})
		if len(words) < 3 || string(words[1]) != "agent" || !strings.Contains(string(words[2]), k.folder) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			list = append(list, pid)
		}
	}
	return list
}
