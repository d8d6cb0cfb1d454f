package jobfile

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/callertest"
)

// bad are files with one mistake each, and the message without the folder.
var bad = []struct{ text, want string }{
	{"", "job.yaml: the file is empty, expected a job file"},
	{"just words", `job.yaml:1: "just words": expected a job file: fields such as run: ./program, one a line`},
	{"- run: true", `job.yaml:1: "[…]": expected a job file: fields such as run: ./program, one a line`},
	{"name: x", "job.yaml: run: there is nothing to run: give run (a shell line) or argv (a list of words)"},
	{"run: true\nargv: [true]", "job.yaml:2: argv: not together with run: give one of the two"},
	{"run:", "job.yaml:1: run: expected a text (of at most 128 KiB, without NUL bytes)"},
	{"argv: []", `job.yaml:1: argv "[…]": expected a list of words, the program first`},
	{"argv: ['']", "job.yaml:1: argv[0]: expected a text (of at most 128 KiB, without NUL bytes)"},
	{"argv: true", `job.yaml:1: argv "true": expected a list of words, the program first`},
	{"run: true\ndeadlin: 5m", "job.yaml:2: deadlin: unknown field, did you mean deadline?"},
	{"run: true\nresources: {memry: 2}", "job.yaml:2: resources.memry: unknown field, did you mean memory?"},
	{"run: true\ncheckpoint: {methd: auto}", "job.yaml:2: checkpoint.methd: unknown field, did you mean method?"},
	{"run: true\nretry: {maximum: 3}", "job.yaml:2: retry.maximum: unknown field, known are max, on"},
	{"run: true\nname: a b", `job.yaml:2: name "a b": expected a name of letters, digits and . _ - (at most 200)`},
	{"run: true\ndeadline: soon", `job.yaml:2: deadline "soon": expected a time from submission such as 20m or 1h30m, or a moment such as 18:30 or 2030-05-31 18:30`},
	{"run: true\ndeadline: 0", `job.yaml:2: deadline "0": expected a time from submission such as 20m or 1h30m, or a moment such as 18:30 or 2030-05-31 18:30`},
	{"run: true\ndeadline: 2026-03-01 11:00",
		`job.yaml:2: deadline "2026-03-01 11:00": expected a moment to come; it is 2026-03-01 12:00:00 UTC now`},
	{"run: true\ndeadline: 2999-03-01 11:00",
		`job.yaml:2: deadline "2999-03-01 11:00": expected a moment within a hundred years`},
	{"run: true\ndeadline: [5m]", `job.yaml:2: deadline "[…]": expected a time from submission such as 20m or 1h30m, or a moment such as 18:30 or 2030-05-31 18:30`},
	{"run: true\nestimate: 1h30", `job.yaml:2: estimate "1h30": expected a time above 0 such as 30s, 10m, 1h30m, 2d or a number of seconds`},
	{"run: true\nprocs: 0", `job.yaml:2: procs "0": expected a number of cores from 1 to 1048576, or two such as 2-32`},
	{"run: true\nprocs: {min: 4, max: 2}", `job.yaml:2: procs.max "2": expected at least min, 4`},
	{"run: true\nprocs: {min: 4, max: 8, initial: 2}",
		`job.yaml:2: procs.initial "2": expected a size that it can have, 4-8`},
	{"run: true\nprocs: {min: 4}", "job.yaml:2: procs.max: missing, expected the most cores that it can use"},
	{"run: true\nkind: rigid\nprocs: 2-4",
		`job.yaml:2: kind "rigid": expected moldable or malleable for 2 to 4 cores; a rigid job has one size`},
	{"run: true\nkind: elastic", `job.yaml:2: kind "elastic": expected one of rigid, moldable, malleable`},
	{"run: true\nresources: {memory: much}",
		`job.yaml:2: resources.memory "much": expected memory of each host such as 2+ or 2 (GiB), 512M or 1.5G`},
	{"run: true\nresources: {cpus: 0.5}",
		`job.yaml:2: resources.cpus "0.5": expected a number of cores of each host from 1 to 1048576, such as 4 or 4+`},
	{"run: true\nresources: {time: -1}",
		`job.yaml:2: resources.time "-1": expected a time limit such as 90 (minutes), 1:30:00, 2-12:00 (days-hours:minutes), 30s, 10m or 1h30m`},
	{"run: true\nconfidence: 1", `job.yaml:2: confidence "1": expected a chance above 0 and below 1, such as 0.95`},
	{"run: true\nconfidence: 95%", `job.yaml:2: confidence "95%": expected a chance above 0 and below 1, such as 0.95`},
	{"run: true\nreliability: 1.5",
		`job.yaml:2: reliability "1.5": expected a part of the jobs from 0 to below 1, such as 0.8`},
	{"run: true\nplace: best", `job.yaml:2: place "best": expected one of wf, cf, cm, fcm, deadline`},
	{"run: true\nplace: default", `job.yaml:2: place "default": expected one of wf, cf, cm, fcm, deadline`},
	{"run: true\nadapt: maybe", `job.yaml:2: adapt "maybe": expected auto (moved when the deadline is in danger) or off (only watched)`},
	{"run: true\nprogress: 'step'",
		`job.yaml:2: progress "step": expected a pattern (RE2) with one group, per cent, or two, done and total, such as 'step (\d+)/(\d+)'; this one has 0`},
	{"run: true\nprogress: '(('", `job.yaml:2: progress "((": expected a pattern (RE2) with one group, per cent, or two, done and total, such as 'step (\d+)/(\d+)'; missing closing ) in "(("`},
	{"run: true\narray: 5-1", `job.yaml:2: array "5-1": expected indices such as 1-100, 0-90:10, 1,5,7-9 or, for at most 20 at once, 1-100%20; the last comes after the first`},
	{"run: true\narray: 1-1000000",
		`job.yaml:2: array "1-1000000": expected indices such as 1-100, 0-90:10, 1,5,7-9 or, for at most 20 at once, 1-100%20; at most 100000 of them`},
	{"run: true\narray: 1,,3", `job.yaml:2: array "1,,3": expected indices such as 1-100, 0-90:10, 1,5,7-9 or, for at most 20 at once, 1-100%20`},
	{"run: true\narray: 1-90000,100001-190000",
		`job.yaml:2: array "1-90000,100001-190000": expected indices such as 1-100, 0-90:10, 1,5,7-9 or, for at most 20 at once, 1-100%20; at most 100000 of them`},
	{"run: true\nafter: [a b]", `job.yaml:2: after[0] "a b": expected ` + wantAfter},
	{"run: true\nafter: 'before:3'", `job.yaml:2: after "before:3": expected ` + wantAfter},
	{"run: true\nafter: '3?4'", `job.yaml:2: after "3?4": expected jobs separated by commas, all of which are waited for; that one of several is enough is not supported`},
	{"run: true\nretry: {max: -1}", `job.yaml:2: retry.max "-1": expected a whole number from 0 to 1000`},
	{"run: true\nretry: {on: [bad_luck]}",
		`job.yaml:2: retry.on[0] "bad_luck": expected one of node_fail, preempted, failed`},
	{"run: true\nretry: {max: 0, on: [node_fail]}", `job.yaml:2: retry.on "node_fail": nothing while retry.max is 0`},
	{"run: true\nenvs: {A-B: 1}", `job.yaml:2: envs "A-B": expected a variable's name of letters, digits and _`},
	{"run: true\nenvs: {A: [1]}", `job.yaml:2: envs.A "[…]": expected a text`},
	{"run: true\nenvs: {A: }", `job.yaml:2: envs "A": expected a value; it is empty here: write one, or give it with --env A=VALUE`},
	{"run: true\nworkdir: nowhere", `job.yaml:2: workdir "nowhere": no such directory`},
	{"run: true\nworkdir: job.yaml", `job.yaml:2: workdir "job.yaml": no such directory`},
	{"run: true\noutputs: [../x]",
		`job.yaml:2: outputs[0] ../x: expected a path within the working directory, such as state.dat or out/*.csv`},
	{"run: true\noutputs: [/x]", `job.yaml:2: outputs[0] /x: expected a path within the working directory, such as state.dat or out/*.csv`},
	{"run: true\noutputs: ['a[']",
		`job.yaml:2: outputs[0] "a[": expected a path within the working directory, such as state.dat or out/*.csv`},
	{"run: true\ncheckpoint: {method: criu}",
		`job.yaml:2: checkpoint.method "criu": expected one of auto, sandbox, signal, exit85, srs, restart`},
	{"run: true\ncheckpoint: {method: signal, files: [a]}",
		"job.yaml: checkpoint.signal: method signal needs the signal that makes the program save itself, such as USR1"},
	{"run: true\ncheckpoint: {method: signal, signal: USR1}",
		"job.yaml: checkpoint.files: method signal needs the files that the program writes when it saves itself"},
	{"run: true\ncheckpoint: exit85",
		"job.yaml: checkpoint.files: method exit85 needs the files that the program writes when it saves itself"},
	{"run: true\ncheckpoint: {signal: USR1}",
		"job.yaml: checkpoint.files: beside signal the files are needed that the program writes when it gets it"},
	{"run: true\ncheckpoint: {method: exit85, files: [a], signal: USR1}",
		`job.yaml:2: checkpoint.signal "USR1": only for method signal, not for exit85`},
	{"run: true\ncheckpoint: {method: sandbox, files: [a]}",
		`job.yaml:2: checkpoint.files "a": only for methods signal and exit85, not for sandbox`},
	{"run: true\ncheckpoint: {files: [a]}",
		`job.yaml:2: checkpoint.files "a": only for methods signal and exit85, not for auto`},
	{"run: true\ncheckpoint: {restart: ./x}",
		"job.yaml:2: checkpoint.restart: only for methods signal and exit85, not for auto"},
	{"run: true\ncheckpoint: {method: restart, every: 5m}",
		`job.yaml:2: checkpoint.every "5m0s": expected auto or never: method restart has nothing to save`},
	{"run: true\ncheckpoint: {every: often}",
		`job.yaml:2: checkpoint.every "often": expected auto, never, or a time above 0 such as 10m`},
	{"run: true\ncheckpoint: {signal: KILL, files: [a]}",
		`job.yaml:2: checkpoint.signal "KILL": expected a signal that a program can catch, such as USR1 or TERM`},
	{"run: true\ncheckpoint: {signal: USR9, files: [a]}",
		`job.yaml:2: checkpoint.signal "USR9": expected a signal that a program can catch, such as USR1 or TERM`},
}

// tooEarly are files that ask for what nobody carries out yet.
var tooEarly = []struct{ text, want string }{
	{"run: true\nnum_nodes: 3\nprocs: 2", `job.yaml:2: num_nodes "3": expected at most the number of cores (procs), 2`},
	{"run: true\ninputs: [s3://b/x]",
		`job.yaml:2: inputs[0] "s3://b/x": not supported yet: objects in stores come later; a file with such a name here is ./s3://b/x`},
	{"run: true\ninputs: [\"leeds:\"]",
		`job.yaml:2: inputs[0] "leeds:": expected cluster:path, or depot:ID; a file with such a name here is ./leeds:`},
	{"run: true\ninputs: [leeds:/]",
		`job.yaml:2: inputs[0] "leeds:/": expected a file or a folder, or a name for it too: {from: leeds:/, as: NAME}`},
	{"run: true\ninputs: [depot:12]",
		`job.yaml:2: inputs[0] "depot:12": expected depot: and the 64 digits of what is there`},
	{"run: true\ninputs: [{from: leeds:/x, as: a/b}]", `job.yaml:2: inputs[0].as "a/b": expected a name without slashes`},
	{"run: true\ninputs: [{as: x}]",
		"job.yaml:2: inputs[0].from: missing, expected where it is: cluster:path, or depot:ID"},
	{"run: true\ninputs: [leeds:/a/x, york:/b/x]",
		`job.yaml:2: inputs "york:/b/x": expected a file of another name; leeds:/a/x is called x too: {from: york:/b/x, as: NAME}`},
	{"run: true\nrequirements: host.arch == \"amd64\"",
		"job.yaml:2: requirements: not supported yet: choosing hosts by an expression comes later; on names the clusters " +
			"that will do"},
	{"run: true\nrank: -site.x", "job.yaml:2: rank: not supported yet: ranking clusters by an expression comes later; " +
		"place chooses how they are ranked"},
	{"run: true\ncomponents: [{run: x}]",
		"job.yaml:2: components[0].procs: missing, expected the number of cores of this part"},
	{"run: true\ncomponents: 4",
		`job.yaml:2: components "4": expected a list of components, such as {procs: 4, on: leeds}`},
	{"run: true\ncomponents: [{procs: 0}]",
		`job.yaml:2: components[0].procs "0": expected a whole number from 1 to 1048576`},
	{"run: true\ncomponents: [{procs: 2, prcs: 3}]",
		"job.yaml:2: components[0].prcs: unknown field, did you mean procs?"},
	{"run: true\ncomponents: [{procs: 1, num_nodes: 2}]",
		`job.yaml:2: components[0].num_nodes "2": expected at most the number of cores (procs), 1`},
	{"run: true\ncomponents: [{procs: 1, run: a, argv: [b]}]",
		"job.yaml:2: components[0].argv: not together with run: give one of the two"},
	{"run: true\nprocs: 4\ncomponents: [{procs: 1}, {procs: 2}]",
		"job.yaml:2: procs: not together with components: each says its own size"},
	{"run: true\ncheckpoint: sandbox\ncomponents: [{procs: 1}, {procs: 2}]",
		"job.yaml:3: components: jobs of several parts are not checkpointed, so not with checkpoint method sandbox"},
	{"run: true\ncomponents: [{procs: 1, inputs: [a:/x]}, {procs: 2, inputs: [b:/x]}]",
		"job.yaml:2: components: part 1: a:/x and b:/x are both called x: {from: b:/x, as: NAME}"},
	{"run: true\npattern: ring", `job.yaml:2: pattern "ring": expected a number of nodes from 2 to 4096; procs or num_nodes says how many there are`},
	{"run: true\npattern: rnig\nprocs: 4",
		`job.yaml:2: pattern "rnig": expected one of ring, path, all, star, tree:K, mesh:RxC, mesh:RxCxD, torus:RxC, torus:RxCxD, hypercube, butterfly, or an existing file`},
	{"run: true\npattern: mesh:2x2\nprocs: 6",
		`job.yaml:2: pattern "mesh:2x2": expected 4 nodes, as mesh:2x2 has; procs or num_nodes says how many there are`},
	{"run: true\npattern: ring\nnum_nodes: 3\nprocs: 4",
		`job.yaml:4: procs "4": expected as many cores on each of the 3 nodes of pattern ring, such as 3`},
	{"run: true\npattern: ring\nnum_nodes: 3\nprocs: 3-6",
		`job.yaml:4: procs "3-6": expected as many cores on each of the 3 nodes of pattern ring, such as 3`},
	{"run: true\nbuild: {dir: src}", "job.yaml:2: build: command is missing: a shell line such as make"},
	{"run: true\nbuild: {command: make, dir: ../src}",
		`job.yaml:2: build.dir ../src: expected a folder within the working directory, such as src`},
	{"run: true\nbuild: {command: make, needs: [-lm]}",
		`job.yaml:2: build.needs[0] "-lm": expected the name of a library, such as fftw3 or m`},
	{"run: true\nestimate: {model: no.model, size: 5}",
		`job.yaml:2: estimate "no.model": a model that godwit model fit wrote is needed there`},
	{"run: true\nestimate: {model: no.model}",
		`job.yaml:2: estimate.size: missing, expected the size at which the program is to run`},
	{"run: true\nfile_mounts: {/data: s3://b}",
		"job.yaml:2: file_mounts: not supported yet: files put elsewhere than in the working directory come later; inputs " +
			"names files that are sent along"},
	{"run: true\ncheckpoint: {method: srs, files: [state]}",
		`job.yaml:2: checkpoint.files "state": only for methods signal and exit85, not for srs`},
}

func TestMistakesAreOneLineWithFileLineFieldAndValue(t *testing.T) {
	for _, list := range [][]struct{ text, want string }{bad, tooEarly} {
		for _, c := range list {
			dir := t.TempDir()
			_, _, err := readText(t, dir, c.text)
			if !badinput.Is(err) {
				t.Errorf("%q: %v", c.text, err)
				continue
			}
			if got := strings.TrimPrefix(err.Error(), dir+"/"); got != c.want {
				t.Errorf("%q:\ngot  %s\nwant %s", c.text, got, c.want)
			}
		}
	}
}

func TestMistakesInFlagsNameTheFlag(t *testing.T) {
	dir := callertest.MakeFolder(t, "a/same", "b/same")
	for _, c := range []struct{ set, want string }{
		{"deadline=soon", `--deadline "soon": expected a time from submission such as 20m or 1h30m, or a moment such as 18:30 or 2030-05-31 18:30`},
		{"procs=none", `--procs "none": expected a number of cores from 1 to 1048576, or two such as 2-32`},
		{"env=UNKNOWN", `--env "UNKNOWN": expected a variable that is set here, or NAME=VALUE`},
		{"env=1A=x", `--env "1A=x": expected a variable's name of letters, digits and _`},
		{"workdir=nowhere", `--workdir "nowhere": no such directory`},
		{"input=nothing", `--input "nothing": no such file in ` + dir},
		{"checkpoint=signal", "checkpoint.files: method signal needs the files that the program writes when it saves itself"},
		{"memory=0", `--memory "0": expected memory of each host such as 2+ or 2 (GiB), 512M or 1.5G`},
		{"dedline=5m", "--dedline: unknown flag, did you mean deadline?"},
	} {
		_, _, err := FromCommand([]string{"true"}, options(dir, c.set))
		if !badinput.Is(err) || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.set, err, c.want)
		}
	}
	_, _, err := FromCommand([]string{"true"},
		options(dir, "workdir=.", "input="+filepath.Join(dir, "a/same"), "input=/etc/passwd", "input=/usr/../etc/passwd"))
	if err != nil {
		t.Error(err)
	}
	_, _, err = readText(t, dir, "run: true\ninputs: [a/same, b/same]")
	if want := "inputs " + `"` + dir; !badinput.Is(err) || !strings.Contains(err.Error(), "is called same too") {
		t.Errorf("%v, want %s…", err, want)
	}
}
