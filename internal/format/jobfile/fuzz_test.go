package jobfile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// FuzzRead reads anything as a job: mistakes come as one line, and what is
// accepted is sound and survives being stored.
func FuzzRead(f *testing.F) {
	for _, list := range [][]struct{ text, want string }{bad, tooEarly} {
		for _, c := range list {
			f.Add([]byte(c.text))
		}
	}
	f.Add([]byte("#!/bin/sh\n#GODWIT --deadline 20m --env A=1 --procs 2-4\ntrue\n#GODWIT --x y\n"))
	f.Add([]byte("run: a\nprocs: {min: 1, max: 3}\ncheckpoint: {method: signal, signal: USR1, files: [a], restart: " +
		"b}\narray: 1-9:2%3\nenvs: {A: 1}"))
	f.Add([]byte("run: a\ncomponents: [{procs: 2, on: [x, y], run: b, inputs: [c, d:/e, {from: f:/g, as: h}]}, " +
		"{procs: 1, num_nodes: 1, resources: {memory: 2G}, argv: [i, j], on: k}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return // beyond this a fuzzer finds nothing more
		}
		d, err := Parse("job.yaml", data, options("/nowhere"), noImporters)
		job := &d.Job
		if err != nil {
			if !badinput.Is(err) || strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Fatalf("not one line of bad input: %q", err)
			}
			return
		}
		if len(job.Argv) == 0 || job.Argv[0] == "" || job.Min < 1 || job.Max < job.Min || job.Name == "" ||
			job.Deadline < 0 || job.Array.Len() > MaxArray {
			t.Fatalf("accepted: %+v", job)
		}
		stored, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		var back Job
		if err := json.Unmarshal(stored, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(&back)
		if diff := cmp.Diff(string(stored), string(again)); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	})
}
