package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// firstUser is the number of a lab's first user: above those that a machine
// gives out itself.
const firstUser = 20001

// etc is the folder that hosts see as /etc: a copy of the machine's, with files
// of the lab's own. A whole one, so that what is changed there, by a daemon's
// set-up say, concerns the lab alone.
func (l *Lab) etc() string { return filepath.Join(l.Dir, "etc") }

// writeEtc makes the lab's users and writes down the names of its hosts.
func (l *Lab) writeEtc(users []string) error {
	for i, name := range users {
		l.Users = append(l.Users, User{Name: name, ID: firstUser + i, Home: filepath.Join(l.Dir, "home", name)})
	}
	var passwd, group, shadow, hosts strings.Builder
	for _, u := range l.Users {
		fmt.Fprintf(&passwd, "%s:x:%d:%d:%s:%s:/bin/sh\n", u.Name, u.ID, u.ID, u.Name, u.Home)
		fmt.Fprintf(&group, "%s:x:%d:\n", u.Name, u.ID)
		fmt.Fprintf(&shadow, "%s:*:19000:0:99999:7:::\n", u.Name) // no password, not locked: keys work
	}
	hosts.WriteString("127.0.0.1 localhost\n")
	for h := range l.hosts {
		fmt.Fprintf(&hosts, "%s %s\n", h.Address, h.Name)
	}
	for _, dir := range []string{"log", "home", "var"} {
		if err := os.MkdirAll(filepath.Join(l.Dir, dir), 0o755); err != nil {
			return err
		}
	}
	if err := copyTree("/etc", l.etc()); err != nil {
		return fmt.Errorf("copying /etc: %w", err)
	}
	err := errors.Join(
		os.Chmod(l.etc(), 0o755),
		replace(filepath.Join(l.etc(), "hosts"), hosts.String(), 0o644),
		// No names but these: without a server they would be waited for in vain.
		replace(filepath.Join(l.etc(), "resolv.conf"), "", 0o644),
		l.extend("passwd", passwd.String(), 0o644),
		l.extend("group", group.String(), 0o644),
		l.extend("shadow", shadow.String(), 0o600))
	for _, u := range l.Users {
		err = errors.Join(err, os.MkdirAll(u.Home, 0o700), os.Chown(u.Home, u.ID, u.ID))
	}
	return err
}

// replace writes a file anew where there may be one, or a link to somewhere.
func replace(path, text string, mode fs.FileMode) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}

// copyTree copies files, folders and links with their owners and rights. What
// is neither, or vanishes meanwhile, is left out.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != from {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		err = copyOne(path, filepath.Join(to, rel), d)
		if errors.Is(err, fs.ErrNotExist) && path != from {
			return nil
		}
		return err
	})
}

func copyOne(from, to string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch d.Type() {
	case fs.ModeDir:
		err = os.MkdirAll(to, 0o700)
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case 0:
		var data []byte
		if data, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
	default:
		return nil
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && err == nil {
		err = os.Lchown(to, int(st.Uid), int(st.Gid))
	}
	if err != nil {
		return err
	}
	return os.Chmod(to, info.Mode().Perm()|info.Mode()&(fs.ModeSetgid|fs.ModeSticky))
}

// extend writes the machine's file of accounts without those that have the name
// of a user of the lab, and with these.
func (l *Lab) extend(name, more string, mode os.FileMode) error {
	old, err := os.ReadFile(filepath.Join("/etc", name))
	if err != nil {
		return err
	}
	var b strings.Builder
	for line := range strings.Lines(string(old)) {
		account, _, _ := strings.Cut(line, ":")
		if _, err := l.User(account); err != nil {
			b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return replace(filepath.Join(l.etc(), name), b.String()+more, mode)
}

// account is a user by whom something can be run on hosts: one of the lab's, or
// one of the machine's, such as a daemon's.
func (l *Lab) account(name string) (User, []int, error) {
	data, err := os.ReadFile(filepath.Join(l.etc(), "passwd"))
	if err != nil {
		return User{}, nil, err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) < 7 || f[0] != name {
			continue
		}
		uid, err1 := strconv.Atoi(f[2])
		gid, err2 := strconv.Atoi(f[3])
		groups, err3 := l.groupsOf(name)
		return User{Name: name, ID: uid, Home: f[5]}, append([]int{gid}, groups...), errors.Join(err1, err2, err3)
	}
	return User{}, nil, fmt.Errorf("the lab %s has no user %q", l.Name, name)
}

func (l *Lab) groupsOf(user string) ([]int, error) {
	data, err := os.ReadFile(filepath.Join(l.etc(), "group"))
	if err != nil {
		return nil, err
	}
	var ids []int
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) < 4 {
			continue
		}
		for member := range strings.SplitSeq(f[3], ",") {
			if id, err := strconv.Atoi(f[2]); err == nil && member == user {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}
