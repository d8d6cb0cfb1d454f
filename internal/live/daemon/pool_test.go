package daemon_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
)

// poolKills is how many processes the test of pools kills.
const poolKills = 40

// killForPool ends a broker, an agent, a worker or the program of an item without warning.
func (c *chaos) killForPool() string {
	switch kind := []string{"broker", "agent", "worker", "item"}[c.random.IntN(4)]; kind {
	case "broker":
		c.mu.Lock()
		_ = c.broker.Process.Kill() // it may have ended
		c.mu.Unlock()
		return kind
	default:
		list := slices.DeleteFunc(c.processes(), func(p process) bool {
			cmdline, _ := os.ReadFile(filepath.Join("/proc", fmt.Sprint(p.pid), "cmdline"))
			isWorker := bytes.Contains(cmdline, []byte("\x00"+poolwork.Subcommand+"\x00"))
			is := "item"
			if p.kind == "agent" {
				is = "agent"
			} else if isWorker {
				is = "worker"
			}
			return is != kind
		})
		if len(list) == 0 || syscall.Kill(list[c.random.IntN(len(list))].pid, syscall.SIGKILL) != nil {
			return ""
		}
		return kind
	}
}

// outcomes reads what became of the items of a pool.
func (c *chaos) outcomes(id int64) map[int][]poolwork.Record {
	c.Helper()
	return again(c, func(ctx context.Context) (map[int][]poolwork.Record, error) {
		body, err := c.client.PoolOutcomes(ctx, fmt.Sprint(id), 0)
		if err != nil {
			return nil, err
		}
		defer body.Close()
		all := map[int][]poolwork.Record{}
		for in := bufio.NewReader(body); ; {
			r, _, err := poolwork.ReadRecord(in)
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			if err != nil {
				return nil, err
			}
			all[r.Item] = append(all[r.Item], *r)
		}
	})
}

func TestWhateverIsKilledEveryItemOfAPoolIsCountedOnce(t *testing.T) {
	c := newChaos(t)
	const items = 3000
	var text strings.Builder
	for i := range items {
		fmt.Fprintf(&text, "item-%d\n", i)
	}
	spec := job("/bin/sh", "-c", "sleep 0.02; echo {}")
	spec.Env["GODWIT_CHAOS"] = c.dir
	spec.Retries = 3
	submit := &api.PoolSubmit{Key: "chaos", Items: []byte(text.String()), Job: spec, Min: 2, Max: 4}
	id := again(c, func(ctx context.Context) (api.PoolSubmitted, error) { return c.client.SubmitPool(ctx, submit) }).ID
	count, done := map[string]int{}, 0
	for done < poolKills {
		time.Sleep(time.Duration(c.random.IntN(500)) * time.Millisecond) // at any moment
		if kind := c.killForPool(); kind != "" {
			count[kind]++
			done++
			if kind == "broker" {
				c.untilBack()
			}
		}
		if p := again(c, func(ctx context.Context) (api.Pool, error) { return c.client.GetPool(ctx, "last") }); p.IsOver() {
			break
		}
	}
	var p api.Pool
	patient := clocktest.PollLoop{Limit: 4 * time.Minute, Pause: 100 * time.Millisecond}
	patient.WaitFor(c, "the end of the pool", func() bool {
		p = again(c, func(ctx context.Context) (api.Pool, error) { return c.client.GetPool(ctx, fmt.Sprint(id)) })
		return p.IsOver()
	}, func() string { return fmt.Sprintf("%+v", p) })
	t.Logf("%d items on %d workers; %d kills: %v; %d items failed", items, p.Started, done, count, p.Failed)
	if p.Done+p.Failed != items {
		t.Errorf("%+v", p)
	}
	if again(c, func(ctx context.Context) (api.PoolSubmitted, error) {
		return c.client.SubmitPool(ctx, submit)
	}).ID != id {
		t.Error("submitted again with its key it is another pool")
	}
	records, killed := c.outcomes(id), 0
	for i := range items {
		want := fmt.Sprintf("item-%d\n", i)
		switch r := records[i]; {
		case len(r) != 1:
			t.Errorf("item %d was counted %d times", i, len(r))
		case r[0].Code == 128+int(syscall.SIGKILL) || r[0].Lost:
			killed++
		case r[0].Code != 0 || string(r[0].Out) != want:
			t.Errorf("item %d: %+v", i, r[0])
		}
	}
	if killed != p.Failed || killed > count["item"]+count["agent"]+count["worker"] {
		t.Errorf("%d items failed, %d were killed; %v", p.Failed, killed, count)
	}
	c.nothingLeft()
}

// poolRun runs godwit pool with a broker that it starts itself.
func (b *flowBed) poolRun(input string, args ...string) (stdout, stderr string, code int) {
	b.Helper()
	cmd := exec.Command(binary, append([]string{"pool", "--workdir", "none"}, args...)...)
	cmd.Env = append(os.Environ(), "GODWIT_STATE="+filepath.Join(b.dir, "state"), "GODWIT_CONFIG="+
		filepath.Join(b.dir, "config.yaml"))
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = strings.NewReader(input), &out, &said, 5*time.Second
	_ = cmd.Run() // its exit code tells
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

func TestAPoolPrintsWhatItsItemsWroteAndNamesThoseThatFailed(t *testing.T) {
	b := newFlowBed(t)
	var input, want strings.Builder
	for i := range 300 {
		fmt.Fprintf(&input, "%d\n\n", i)
		fmt.Fprintf(&want, "begin %d\nend %d\n", i, i)
	}
	out, said, code := b.poolRun(input.String(), "--keep-order", "--workers", "2..6", "--", "sh", "-c",
		"echo begin {}; echo end $GODWIT_ITEM")
	if out != want.String() || code != 0 || !strings.Contains(said, "pool 1: 300 of 300 items done") {
		t.Errorf("exit code %d, %q, %s", code, out, said)
	}
	out, said, code = b.poolRun("a\nb c\n", "-o", "json", "--", "sh", "-c", `echo "$1"; test "$1" != "b c"`, "sh")
	if code != 1 || !strings.Contains(said, "item 2 failed: b c: exit code 1") || !strings.Contains(out, `"failed": 1`) ||
		!strings.Contains(said, "b c\n") {
		t.Errorf("exit code %d, %s, %s", code, out, said)
	}
	if _, said, code = b.poolRun("\n", "--", "true"); code != 2 || !strings.Contains(said, "at least one line") {
		t.Errorf("no items: exit code %d, %s", code, said)
	}
	if _, said, code = b.poolRun("x\n", "--", "/no/such/program"); code != 1 || !strings.Contains(said, "exit code 127") {
		t.Errorf("no such program: exit code %d, %s", code, said)
	}
}
