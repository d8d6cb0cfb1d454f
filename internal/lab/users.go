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

	"github.com/godwit-hpc/godwit/internal/lab/accounts"
)

// etcFolder is the folder that hosts see as /etc: a copy of the machine's, with files
// of the lab's own. A whole one, so that what is changed there, by a daemon's
// set-up say, concerns the lab alone.
func (l *Lab) etcFolder() string { return filepath.Join(l.Dir, "etc") }

// writeEtc makes the lab's users and writes down the names of its hosts.
func (l *Lab) writeEtc(users []string) error {
	ids, err := accounts.FreeIDs("/etc", len(users))
	if err != nil {
		return err
	}
	for i, name := range users {
		l.Users = append(l.Users, accounts.User{Name: name, ID: ids[i], Home: filepath.Join(l.Dir, "home", name)})
	}
	var hosts strings.Builder
	hosts.WriteString("127.0.0.1 localhost\n")
	for h := range l.eachHost {
		fmt.Fprintf(&hosts, "%s %s\n", h.Address, h.Name)
	}
	for _, dir := range []string{"log", "home", "var"} {
		if err := os.MkdirAll(filepath.Join(l.Dir, dir), 0o755); err != nil {
			return err
		}
	}
	if err := copyTree("/etc", l.etcFolder()); err != nil {
		return fmt.Errorf("copying /etc: %w", err)
	}
	err = errors.Join(
		os.Chmod(l.etcFolder(), 0o755),
		accounts.ReplaceFile(filepath.Join(l.etcFolder(), "hosts"), hosts.String(), 0o644),
		// No names but these: without a server they would be waited for in vain.
		accounts.ReplaceFile(filepath.Join(l.etcFolder(), "resolv.conf"), "", 0o644),
		accounts.Write("/etc", l.etcFolder(), l.Users))
	for _, u := range l.Users {
		err = errors.Join(err, os.MkdirAll(u.Home, 0o700), os.Chown(u.Home, u.ID, u.ID))
	}
	return err
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

// findAccount is a user by whom something can be run on hosts: one of the lab's, or
// one of the machine's, such as a daemon's.
func (l *Lab) findAccount(name string) (accounts.User, []int, error) {
	data, err := os.ReadFile(filepath.Join(l.etcFolder(), "passwd"))
	if err != nil {
		return accounts.User{}, nil, err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) < 7 || f[0] != name {
			continue
		}
		uid, err1 := strconv.Atoi(f[2])
		gid, err2 := strconv.Atoi(f[3])
		groups, err3 := l.groupsOf(name)
		return accounts.User{Name: name, ID: uid, Home: f[5]}, append([]int{gid}, groups...), errors.Join(err1, err2, err3)
	}
	return accounts.User{}, nil, fmt.Errorf("the lab %s has no user %q", l.Name, name)
}

func (l *Lab) groupsOf(user string) ([]int, error) {
	data, err := os.ReadFile(filepath.Join(l.etcFolder(), "group"))
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
