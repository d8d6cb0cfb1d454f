package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

func aPool(key string, items ...string) *api.PoolSubmit {
	return &api.PoolSubmit{Key: key, Items: []byte(strings.Join(items, "\n")), Min: 1, Max: 1,
		Job: jobfile.Job{Name: "each", Argv: []string{"true"}, Min: 1, Max: 1}}
}

func (b *bench) submitPool(u broker.User, key string, items ...string) int64 {
	b.Helper()
	done, err := b.clients[u.ID].SubmitPool(b.Context(), aPool(key, items...))
	if err != nil {
		b.Fatal(err)
	}
	return done.ID
}

// workerOf waits for the attempt of the worker of a pool.
func (b *bench) workerOf(pool int64) (a wire.Attempt) {
	b.Helper()
	clocktest.WaitFor(b, "the worker of the pool", func() bool {
		b.cluster.mu.Lock()
		defer b.cluster.mu.Unlock()
		for _, started := range b.cluster.started {
			if started.Spec.Env[poolwork.PoolVariable] == fmt.Sprint(pool) {
				a = started
				return true
			}
		}
		return false
	})
	return a
}

// report hands in a report as somebody.
func (b *bench) report(u broker.User, r *poolwork.Report) (a poolwork.Answer) {
	b.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := b.clients[u.ID].HTTP.Post(api.Base+poolwork.Path, "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || resp.StatusCode != http.StatusOK {
		b.Fatal(resp.Status, err)
	}
	return a
}

func TestNobodyTouchesThePoolsOfOthers(t *testing.T) {
	b := newBench(t)
	pool := fmt.Sprint(b.submitPool(alice, "key", "a", "b"))
	if _, err := b.clients[bob.ID].CancelPool(t.Context(), pool); err == nil {
		t.Error("bob cancels alice's pool")
	}
	if id := b.submitPool(bob, "key", "mine"); fmt.Sprint(id) == pool {
		t.Error("with the key of alice's pool bob gets hers")
	}
	if p, err := b.clients[alice.ID].GetPool(t.Context(), "last"); err != nil || fmt.Sprint(p.ID) != pool || p.Items != 2 {
		t.Errorf("alice's last pool is %+v, %v", p, err)
	}
	if again := b.submitPool(alice, "key", "a", "b"); fmt.Sprint(again) != pool {
		t.Errorf("the same key gave pool %d", again)
	}
	if _, err := b.clients[alice.ID].SubmitPool(t.Context(), aPool("k2", "1", "2", "3", "4")); err == nil ||
		!strings.Contains(err.Error(), "limits.items") {
		t.Errorf("six items of five that are allowed: %v", err)
	}
	b.submitPool(alice, "k3", "1")
	if _, err := b.clients[alice.ID].SubmitPool(t.Context(), aPool("k4", "1")); err == nil ||
		!strings.Contains(err.Error(), "limits.pools") {
		t.Errorf("three pools of two that are allowed: %v", err)
	}
	for what, wrong := range map[string]*api.PoolSubmit{"no items": aPool("k5", "", ""), "no key": aPool("", "x"),
		"a NUL byte": aPool("k6", "a\x00b"), "no workers": {Key: "k7", Items: []byte("x"), Job: aPool("", "").Job},
		"a long item": aPool("k8", strings.Repeat("x", poolwork.MaxItem+1))} {
		if _, err := b.clients[bob.ID].SubmitPool(t.Context(), wrong); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

func TestAWorkerReportsToPoolsOfThoseWhoLetItIn(t *testing.T) {
	b := newBench(t)
	pool := b.submitPool(alice, "key", secret, "b")
	w := b.workerOf(pool)
	r := &poolwork.Report{Pool: pool, Job: w.Job, Mark: w.Mark}
	for what, wrong := range map[string]poolwork.Answer{
		"bob with alice's mark": b.report(bob, r),
		"another mark":          b.report(alice, &poolwork.Report{Pool: pool, Job: w.Job, Mark: "guessed"}),
		"another job":           b.report(alice, &poolwork.Report{Pool: pool, Job: 99, Mark: w.Mark}),
		"another pool":          b.report(alice, &poolwork.Report{Pool: 99, Job: w.Job, Mark: w.Mark}),
	} {
		if !wrong.Leave || len(wrong.Items) > 0 {
			t.Errorf("%s is answered %+v", what, wrong)
		}
	}
	a := b.report(alice, r)
	if a.Leave || string(a.Texts) != secret+"\n" {
		t.Fatalf("alice's worker is answered %+v", a)
	}
	r.Outcomes, r.Seconds = []poolwork.Outcome{{Item: 0, Out: []byte("out"), Code: 3}}, 0.001
	b.report(alice, r)
	b.report(alice, r) // as if the answer had been lost
	p, err := b.clients[alice.ID].GetPool(t.Context(), fmt.Sprint(pool))
	if err != nil || p.Failed != 1 || p.Done != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	failures, err := b.clients[alice.ID].ListPoolFailures(t.Context(), fmt.Sprint(pool))
	if err != nil || len(failures) != 1 || failures[0] != (api.PoolFailure{Item: 1, Text: secret, Code: 3}) {
		t.Errorf("%+v, %v", failures, err)
	}
	r.Outcomes = []poolwork.Outcome{{Item: 1}}
	if a := b.report(alice, r); !a.Leave {
		t.Errorf("after the last item: %+v", a)
	}
}
