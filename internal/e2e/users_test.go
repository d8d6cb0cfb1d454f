package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// upShared makes the lab of a plan with one broker for all its users, and is used
// as alice.
func upShared(t *testing.T, plan string) *bed {
	t.Helper()
	b := up(t, plan, "--shared")
	return b.as("alice")
}

// as is the same broker, used as somebody, who has a work folder of their own.
func (b *bed) as(user string) *bed {
	b.t.Helper()
	u, err := b.lab.FindUser(user)
	if err != nil {
		b.t.Fatal(err)
	}
	theirs := *b
	theirs.user, theirs.work = user, filepath.Join(filepath.Dir(b.bin), "work-"+user)
	if err := errors.Join(os.MkdirAll(theirs.work, 0o755), os.Chown(theirs.work, u.ID, u.ID)); err != nil {
		b.t.Fatal(err)
	}
	return &theirs
}

// socket is where a shared broker answers.
func (b *bed) socket() string { return filepath.Join(filepath.Dir(b.bin), "run", "broker.sock") }

// tryAs runs a command of godwit on the lab's head as a user of the lab.
func (b *bed) tryAs(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := b.lab.Head.CommandAs(ctx, b.user, append([]string{b.bin}, args...)...)
	cmd.Dir, cmd.Env = b.work, append(cmd.Env, "GODWIT_SOCKET="+b.socket())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.String(), err
}

// logs is what jobs wrote: asked for by one command, as entering a host takes longer
// than asking.
func (b *bed) logs(ids []string) []string {
	b.t.Helper()
	const next = "\x01"
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	script := `for id; do "$0" logs "$id" 2>/dev/null; printf '\001'; done`
	cmd := b.lab.Head.CommandAs(ctx, b.user, append([]string{"/bin/sh", "-c", script, b.bin}, ids...)...)
	cmd.Env = append(cmd.Env, "GODWIT_SOCKET="+b.socket())
	out, err := cmd.Output()
	list := strings.Split(strings.TrimSuffix(string(out), next), next)
	if err != nil || len(list) != len(ids) {
		b.t.Fatalf("%d logs of %d jobs: %v", len(list), len(ids), err)
	}
	return list
}

// number is the number of the user as whom the broker is used.
func (b *bed) number() int {
	b.t.Helper()
	u, err := b.lab.FindUser(b.user)
	if err != nil {
		b.t.Fatal(err)
	}
	return u.ID
}

// closedTo looks that somebody can do nothing with jobs of somebody else.
func (b *bed) closedTo(other *bed, id string) {
	b.t.Helper()
	for _, verb := range []string{"show", "logs", "explain", "cancel"} {
		if out, err := other.try(verb, id); err == nil || !strings.Contains(err.Error(), "no such job") {
			b.t.Errorf("%s may %s job %s of %s: %q, %v", other.user, verb, id, b.user, out, err)
		}
	}
	if _, there := other.all()[id]; there {
		b.t.Errorf("%s sees job %s of %s", other.user, id, b.user)
	}
}
