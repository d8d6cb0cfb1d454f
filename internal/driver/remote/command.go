package remote

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// checkQuotable says what is wrong with a word that is to stand between single quotes:
// that means the same in every shell, as long as there is none of these in it.
func checkQuotable(word string) error {
	if strings.ContainsAny(word, `'\!`) || strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("%q: a name without quotes, backslashes, exclamation marks and control characters", word)
	}
	return nil
}

// shellLine is a command line for whatever shell the user has over there: sh
// with a script of ours, and words for it.
func shellLine(script string, words ...string) (string, error) {
	line := "exec sh -c"
	for _, w := range slices.Concat([]string{script, "godwit"}, words) {
		if err := checkQuotable(w); err != nil {
			return "", err
		}
		quoted, err := syntax.Quote(w, syntax.LangPOSIX)
		if err != nil {
			return "", err
		}
		line += " " + quoted
	}
	return line, nil
}

// ourOptions are those that we need; ssh takes the first that it meets, so the
// user's come before them.
func ourOptions() []string {
	var list []string
	for _, o := range []string{"BatchMode=yes", "ControlMaster=no", "ServerAliveInterval=5", "ServerAliveCountMax=3",
		"ConnectTimeout=15",
		"ClearAllForwardings=yes", "RemoteCommand=none", "PermitLocalCommand=no", "ForwardAgent=no", "ForwardX11=no",
		"LogLevel=ERROR"} {
		list = append(list, "-o", o)
	}
	return append(list, "-T")
}

// sshCommand is ssh with a command line for the other end. Without sharing, a
// connection that the user opened is not used: it may hang.
func (d *Driver) sshCommand(ctx context.Context, line string, sharing bool) *exec.Cmd {
	o := &d.opt
	if len(o.Here) > 0 {
		return d.detachCommand(exec.Command(o.Here[0], o.Here[1:]...))
	}
	args := slices.Concat(o.SSHCommand[1:], o.SSHOptions, ourOptions())
	switch path := d.controlPath(ctx); {
	case !sharing:
		args = append(args, "-o", "ControlPath=none")
	case path != "":
		args = append(args, "-o", "ControlPath="+path)
	}
	args = append(args, "--", o.SSH, line)
	return d.detachCommand(exec.Command(o.SSHCommand[0], args...))
}

// detachCommand sees to it whose a command is. What is typed at the broker's terminal is
// not for it, and there is nobody to be asked for a password.
func (d *Driver) detachCommand(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if d.opt.As != nil {
		d.opt.As(cmd)
	}
	return cmd
}

// controlPath is where a connection that the user opened for us is looked for;
// "" if the user's own settings of ssh say where.
func (d *Driver) controlPath(ctx context.Context) string {
	o := &d.opt
	if o.Control == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	args := slices.Concat(o.SSHCommand[1:], o.SSHOptions, []string{"-G", "--", o.SSH})
	text, err := d.detachCommand(exec.CommandContext(ctx, o.SSHCommand[0], args...)).Output()
	if err == nil && hasControlPath(text) {
		return ""
	}
	return d.ownControlPath()
}

// ownControlPath is a short path that depends on whom we connect to and nothing else.
func (d *Driver) ownControlPath() string {
	sum := sha256.Sum256([]byte(strings.Join(append(slices.Clone(d.opt.SSHOptions), d.opt.SSH), "\x00")))
	return filepath.Join(d.opt.Control, "ssh-"+hex.EncodeToString(sum[:6]))
}

// hasControlPath reads what ssh -G prints.
func hasControlPath(text []byte) bool {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "controlpath "); ok && value != "none" {
			return true
		}
	}
	return false
}

// explainFailure says in one line why ssh failed, and what to do where that is known.
func (d *Driver) explainFailure(err error, said string) error {
	host := d.opt.SSH
	last := lastLine(said)
	if len(d.opt.Here) > 0 {
		return fmt.Errorf("the outpost on this machine: %s: %w", last, err)
	}
	has := func(s string) bool { return strings.Contains(said, s) }
	switch {
	case has("Permission denied") && !has("godwit"):
		open := "ssh " + host
		if d.opt.Control != "" {
			open = strings.Join(slices.Concat([]string{"ssh"}, d.opt.SSHOptions,
				[]string{"-fNM", "-S", d.ownControlPath(), host}), " ")
		}
		return fmt.Errorf("ssh to %s wants a password or a code, which nobody is there to type: load the key into "+
			"ssh-agent, or log in once by hand with `%s` (%s)", host, open, last)
	case has("Host key verification failed"):
		return fmt.Errorf("the host key of %s is not known here: run `ssh %s` once by hand and confirm it (%s)", host, host,
			last)
	case last != "":
		return fmt.Errorf("ssh to %s: %s", host, last)
	}
	return fmt.Errorf("ssh to %s: %w", host, err)
}

// lastLine is the last line that says something, cut to what can be read. What
// the outpost wrote to its log is no reason for anything.
func lastLine(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "time=") {
			last = line
		}
	}
	return last[:min(len(last), 300)]
}

// exitError turns the end of ssh into words.
func exitError(err error) error {
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return fmt.Errorf("it ended: %w", err)
	}
	if err == nil {
		return errors.New("the connection ended")
	}
	return err
}
