// Package accounts writes down who exists on the hosts of a lab: the accounts of the
// machine, which daemons need, and users of the lab alone. A user of the lab may have
// the name of an account of the machine: on the hosts the name is then the lab's, and
// nothing that the machine grants to the account goes with it. The machine's own files
// are only read. The package must not know what hosts are made of.
package accounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// FirstID is the number from which those of users are looked for: above those that
// most machines give out themselves.
const FirstID = 20001

// maxID is the largest number that every tool takes for that of a user.
const maxID = 1<<31 - 1

// User is somebody who exists on the hosts alone, with a group of the same name and
// number.
type User struct {
	Name string
	ID   int // user and group
	Home string
}

// FreeIDs are n numbers from FirstID on that are neither a user's nor a group's in the
// files of accounts below etc.
func FreeIDs(etc string, n int) ([]int, error) {
	taken := map[int]bool{}
	for _, name := range []string{"passwd", "group"} {
		lines, err := readLines(etc, name)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			fields := strings.Split(line, ":")
			for _, f := range fields[min(2, len(fields)):min(4, len(fields))] {
				if id, err := strconv.Atoi(f); err == nil {
					taken[id] = true
				}
			}
		}
	}
	var free []int
	for id := FirstID; len(free) < n; id++ {
		if id > maxID {
			return nil, errors.New("no numbers are left for users of the lab")
		}
		if !taken[id] {
			free = append(free, id)
		}
	}
	return free, nil
}

// Write writes the files that say who exists into the folder to: those of the folder
// from, without accounts that have the name of one of the users and without what is
// granted to them by that name, and with the users.
func Write(from, to string, users []User) error {
	w := writer{from: from, to: to, names: map[string]bool{}}
	var passwd, group, shadow, gshadow []string
	for _, u := range users {
		w.names[u.Name] = true
		passwd = append(passwd, fmt.Sprintf("%s:x:%d:%d:%s:%s:/bin/sh", u.Name, u.ID, u.ID, u.Name, u.Home))
		group = append(group, fmt.Sprintf("%s:x:%d:", u.Name, u.ID))
		shadow = append(shadow, u.Name+":*:19000:0:99999:7:::") // no password, not locked: keys work
		gshadow = append(gshadow, u.Name+":*::")
	}
	return errors.Join(
		w.writeFile("passwd", 0o644, passwd),
		w.writeFile("group", 0o644, group, 3),
		w.writeFile("shadow", 0o600, shadow),
		w.writeFile("gshadow", 0o600, gshadow, 2, 3),
		w.writeFile("subuid", 0o644, nil),
		w.writeFile("subgid", 0o644, nil),
		w.switchToFiles(),
		w.hideAdministrators())
}

type writer struct {
	from, to string
	names    map[string]bool // of the users
	replaced bool            // one of them is an account of the machine, too
}

// writeFile writes one file with more lines; lists are the fields that list names of
// accounts. A file that the machine does not have is written only for these lines.
func (w *writer) writeFile(name string, mode fs.FileMode, more []string, lists ...int) error {
	old, err := readLines(w.from, name)
	if err != nil || len(old)+len(more) == 0 {
		return err
	}
	var kept []string
	for _, line := range old {
		fields := strings.Split(line, ":")
		if w.names[fields[0]] {
			w.replaced = true
			continue
		}
		for _, i := range lists {
			if i < len(fields) {
				members := strings.Split(fields[i], ",")
				fields[i] = strings.Join(slices.DeleteFunc(members, func(m string) bool { return w.names[m] }), ",")
			}
		}
		kept = append(kept, strings.Join(fields, ":"))
	}
	return ReplaceFile(filepath.Join(w.to, name), strings.Join(append(kept, more...), "\n")+"\n", mode)
}

// switchToFiles has accounts looked up in the files alone: a directory on the network
// may have the names of users, too, and come first.
func (w *writer) switchToFiles() error {
	lines, err := readLines(w.from, "nsswitch.conf")
	if err != nil || len(lines) == 0 {
		return err
	}
	for i, line := range lines {
		database, _, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(database) {
		case "passwd", "group", "shadow", "gshadow", "initgroups":
			lines[i] = strings.TrimSpace(database) + ": files"
		}
	}
	return ReplaceFile(filepath.Join(w.to, "nsswitch.conf"), strings.Join(lines, "\n")+"\n", 0o644)
}

// hideAdministrators takes away what lets accounts of the machine be root by their
// names, where one of these is a user's now.
func (w *writer) hideAdministrators() error {
	if !w.replaced {
		return nil
	}
	return errors.Join(os.RemoveAll(filepath.Join(w.to, "sudoers")), os.RemoveAll(filepath.Join(w.to, "sudoers.d")))
}

// readLines are the lines of a file; none if there is no such file.
func readLines(dir, name string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" }), err
}

// ReplaceFile writes a file anew where there may be one, or a link to somewhere.
func ReplaceFile(path, text string, mode fs.FileMode) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}
