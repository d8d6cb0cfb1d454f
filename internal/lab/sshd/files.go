package sshd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// prepareFiles writes keys and settings, those that are missing and those that can be
// written again.
func (s *Servers) prepareFiles(ctx context.Context) error {
	if err := os.MkdirAll(s.filePath("authorized"), 0o755); err != nil {
		return err
	}
	identity, err := s.makeKey(ctx, "identity", s.config.Owner, s.config.Group)
	if err != nil {
		return err
	}
	var known, client strings.Builder
	for _, h := range s.config.Hosts {
		key, err := s.makeKey(ctx, h.Name()+".key", 0, 0)
		if err != nil {
			return err
		}
		if err := os.WriteFile(s.filePath(h.Name()+".conf"), []byte(s.serverConfig(h)), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&known, "%s,%s %s", h.Name(), h.Addr(), key)
		fmt.Fprintf(&client, "Host %s\n\tHostName %s\n", h.Name(), h.Addr())
	}
	client.WriteString(s.clientDefaults())
	err = errors.Join(
		os.WriteFile(s.filePath("authorized", ".all"), []byte(identity), 0o644),
		os.WriteFile(s.filePath("known_hosts"), []byte(known.String()), 0o644),
		os.WriteFile(s.filePath("hosts"), []byte(client.String()), 0o644),
		os.WriteFile(s.ClientConfig(), []byte(clientConfig(s.IdentityFile(), s.filePath("hosts"))), 0o644))
	for _, u := range s.config.Users {
		err = errors.Join(err, s.admitUser(ctx, u))
	}
	return err
}

// admitUser gives a user an identity with which to go to other hosts. What a user
// has already is left alone.
func (s *Servers) admitUser(ctx context.Context, u User) error {
	name := "identity-" + u.Name
	key, err := s.makeKey(ctx, name, u.UID, u.GID)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.filePath("authorized", u.Name), []byte(key), 0o644); err != nil {
		return err
	}
	dir := filepath.Join(u.Home, ".ssh")
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	file := filepath.Join(dir, "config")
	return errors.Join(
		os.WriteFile(file, []byte(clientConfig(s.filePath(name), s.filePath("hosts"))), 0o600),
		os.Lchown(file, u.UID, u.GID), os.Lchown(dir, u.UID, u.GID))
}

// makeKey makes a pair of keys the first time and returns the public one.
func (s *Servers) makeKey(ctx context.Context, name string, owner, group int) (string, error) {
	path := s.filePath(name)
	if _, err := os.Stat(path + ".pub"); errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(path) // half of a pair
		out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f",
			path).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("ssh-keygen: %w: %s", err, strings.TrimSpace(string(out)))
		}
	}
	if err := os.Chown(path, owner, group); err != nil {
		return "", err
	}
	text, err := os.ReadFile(path + ".pub")
	return string(text), err
}

// serverConfig is the text of a host's sshd_config.
func (s *Servers) serverConfig(h Host) string {
	lines := []string{
		"ListenAddress " + h.Addr(),
		"Port 22",
		"HostKey " + s.filePath(h.Name()+".key"),
		"PidFile " + s.filePath(h.Name()+".pid"),
		"AuthorizedKeysFile " + s.filePath("authorized", ".all") + " " + s.filePath("authorized", "%u"),
		"StrictModes no", // the lab's folder may be below one that everybody writes to
		"UsePAM no",      // users of the lab have no passwords, and no shadow entries
		"PasswordAuthentication no",
		"KbdInteractiveAuthentication no",
		"PermitRootLogin prohibit-password",
		"PrintMotd no",
		"UseDNS no",
		"MaxStartups 100:30:200",
		"MaxSessions 100",
		"AcceptEnv OMPI_* PMIX_*",
		"Subsystem sftp internal-sftp",
	}
	if len(h.Env) > 0 {
		set := "SetEnv"
		for _, key := range slices.Sorted(maps.Keys(h.Env)) {
			set += fmt.Sprintf(" %s=%q", key, h.Env[key])
		}
		lines = append(lines, set)
	}
	return strings.Join(lines, "\n") + "\n"
}

// clientDefaults are what holds for all hosts, whoever comes.
func (s *Servers) clientDefaults() string {
	lines := []string{
		"Host *",
		"IdentitiesOnly yes",
		"UserKnownHostsFile " + s.filePath("known_hosts"),
		"GlobalKnownHostsFile /dev/null",
		"StrictHostKeyChecking yes",
		"UpdateHostKeys no",
		"BatchMode yes",
		"PreferredAuthentications publickey",
		"LogLevel ERROR",
	}
	return strings.Join(lines, "\n\t") + "\n"
}

// clientConfig is the configuration of somebody with an identity.
func clientConfig(identity, hosts string) string {
	return fmt.Sprintf("IdentityFile %s\nInclude %s\n", identity, hosts)
}
