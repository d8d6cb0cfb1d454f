package daemon_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// saves is what the checkpoints of a job cost, as explain tells it.
func (b *bed) saves(id string) []map[string]any {
	b.Helper()
	all, err := b.client.ExplainJob(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	var list []map[string]any
	for _, d := range all {
		if d.Kind == "checkpoint" && d.Inputs["moved"] != nil {
			list = append(list, d.Inputs)
		}
	}
	return list
}

// hotHeap saves a program with a heap of which it changes a twentieth all the
// time, twice.
func hotHeap(t testing.TB, megabytes int) (first, second map[string]any) {
	t.Helper()
	b := up(t, twoClusters)
	spec := job("./hot", strconv.Itoa(megabytes))
	spec.Workdir = t.TempDir()
	if out, err := exec.Command("cc", "-O2", "-o", filepath.Join(spec.Workdir, "hot"),
		"testdata/hot.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	spec.Checkpoint.Method = "sandbox"
	id := b.submit(spec)
	b.shows(id, "filled\nchanged\n")
	for range 2 {
		if _, err := b.client.CheckpointJob(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		// All of the hot part is to change before the next save.
		seen := strings.Count(b.output(id, 1), "changed")
		b.shows(id, strings.Repeat("changed\n", seen+3))
	}
	saves := b.saves(id)
	if _, err := b.client.CancelJob(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	b.nothingLeft(id)
	if len(saves) != 2 {
		t.Fatalf("%d checkpoints are explained", len(saves))
	}
	return saves[0], saves[1]
}

func number(m map[string]any, name string) float64 {
	f, _ := m[name].(float64)
	return f
}

func TestTheSecondCheckpointOfALargeHeapMovesLittle(t *testing.T) {
	const megabytes = 256
	first, second := hotHeap(t, megabytes)
	t.Logf("first %v, second %v", first, second)
	if number(first, "moved") < 0.9*megabytes*1e6 {
		t.Errorf("the first moved %.0f bytes of a heap of %d MB: not what this test is about", number(first, "moved"),
			megabytes)
	}
	if part := number(second, "moved") / number(first, "moved"); part <= 0 || part > 0.15 {
		t.Errorf("the second moved %.1f %% of what the first did", 100*part)
	}
}

// BenchmarkHeap saves a heap of 1 GB twice, with 5 % of it changed in between.
func BenchmarkHeap(b *testing.B) {
	for b.Loop() {
		first, second := hotHeap(b, 1024)
		b.ReportMetric(number(first, "moved")/1e6, "first-MB")
		b.ReportMetric(number(second, "moved")/1e6, "second-MB")
		b.ReportMetric(100*number(second, "moved")/number(first, "moved"), "%-moved")
		for name, m := range map[string]map[string]any{"first": first, "second": second} {
			b.ReportMetric(number(m, "took_s"), name+"-s")
			b.ReportMetric(number(m, "frozen_s"), name+"-frozen-s")
		}
	}
}
