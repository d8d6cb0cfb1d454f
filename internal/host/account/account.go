// Package account says who the users of this machine are, and starts processes
// as one of them: with that user's numbers and groups, in the home folder, with
// an environment of its own and nothing of ours. It knows the system's accounts;
// it must not know what is started, nor for what.
package account

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// User is an account of this machine.
type User struct {
	ID, Group uint32
	Groups    []uint32 // all of them
	Name      string
	Home      string
	Shell     string
}

// Table looks accounts up, and remembers them for a while.
type Table struct {
	Clock clock.Clock // nil: the real one

	mu    sync.Mutex
	known map[uint32]entry
}

type entry struct {
	user *User
	at   time.Time
}

// entryMaxAge is how long what was looked up is believed.
const entryMaxAge = time.Minute

// lookupTimeout is how long a directory of accounts on the network may take.
const lookupTimeout = 10 * time.Second

// AccountOf is the account of a number.
func (t *Table) AccountOf(id uint32) (*User, error) {
	t.mu.Lock()
	if t.Clock == nil {
		t.Clock = clock.RealClock()
	}
	e, ok := t.known[id]
	ok = ok && t.Clock.Since(e.at) < entryMaxAge
	t.mu.Unlock()
	if ok {
		return e.user, nil
	}
	u, err := lookUp(id) // which may take long, and nobody else waits for it
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[uint32]entry{}
	}
	t.known[id] = entry{u, t.Clock()}
	return u, nil
}

// lookUp asks the system: its files of accounts, or, as a program without the C
// library cannot, its other directories by way of getent and id.
func lookUp(id uint32) (*User, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	number := strconv.FormatUint(uint64(id), 10)
	text, err := exec.CommandContext(ctx, "getent", "passwd", number).Output()
	if err != nil {
		return fromFiles(number)
	}
	u, err := parseLine(string(text))
	if err != nil || u.ID != id {
		return nil, errors.Join(fmt.Errorf("user %s has no account on this machine", number), err)
	}
	groups, err := exec.CommandContext(ctx, "id", "-G", u.Name).Output()
	if err != nil {
		return nil, fmt.Errorf("the groups of %s: %w", u.Name, err)
	}
	return u, u.joinGroups(strings.Fields(string(groups)))
}

// fromFiles looks into the files of accounts.
func fromFiles(number string) (*User, error) {
	known, err := user.LookupId(number)
	if err != nil {
		return nil, fmt.Errorf("user %s has no account on this machine: %w", number, err)
	}
	u, err := parseLine(strings.Join([]string{known.Username, "", known.Uid, known.Gid, "", known.HomeDir, ""}, ":"))
	if err != nil {
		return nil, err
	}
	groups, err := known.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("the groups of %s: %w", u.Name, err)
	}
	return u, u.joinGroups(groups)
}

// parseLine reads a line as in /etc/passwd.
func parseLine(line string) (*User, error) {
	line, _, _ = strings.Cut(line, "\n")
	f := strings.Split(line, ":")
	if len(f) != 7 || f[0] == "" {
		return nil, fmt.Errorf("%q is no line of an account", line)
	}
	id, err1 := strconv.ParseUint(f[2], 10, 32)
	group, err2 := strconv.ParseUint(f[3], 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("%q is no line of an account: %w", line, err)
	}
	u := &User{ID: uint32(id), Group: uint32(group), Name: f[0], Home: f[5], Shell: f[6]}
	if !filepath.IsAbs(u.Home) {
		return nil, fmt.Errorf("user %s has no home folder", u.Name)
	}
	if u.Shell == "" {
		u.Shell = "/bin/sh"
	}
	return u, nil
}

func (u *User) joinGroups(numbers []string) error {
	for _, n := range numbers {
		id, err := strconv.ParseUint(n, 10, 32)
		if err != nil {
			return fmt.Errorf("the groups of %s: %w", u.Name, err)
		}
		u.Groups = append(u.Groups, uint32(id))
	}
	return nil
}

// path is where a user finds programs before any file of settings was read.
const path = "/usr/local/bin:/usr/bin:/bin"

// RunAs makes a command, which has not been started, one of this user.
func (u *User) RunAs(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: u.ID, Gid: u.Group, Groups: u.Groups}
	cmd.Dir = u.Home
	cmd.Env = []string{"HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name, "SHELL=" + u.Shell, "PATH=" + path,
		"LANG=C.UTF-8"}
}
