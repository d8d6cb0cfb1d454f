// Package flowfile reads workflows as users write them: YAML with tasks, the files
// that pass between them, and parameter sweeps. It decides what such a file means:
// which instances a sweep has, which task waits for which, and what to tell a user
// whose file is wrong, always with the name of the task. It knows nothing of hosts,
// plans or brokers.
//
// # What is read
//
//	version: 1
//	name: wordcount
//	files: [count.awk]          # that every task gets
//	tasks:
//	  - id: split
//	    run: split -n l/4 --numeric-suffixes=1 -a 1 text.txt part.
//	    inputs: [text.txt]
//	    outputs: ["part.{1-4}"]
//	  - id: count
//	    sweep: {i: 1-4}
//	    run: awk -f count.awk part.{i} > count.{i}
//	    inputs: ["part.{i}"]
//	    outputs: ["count.{i}"]
//	    estimate: 2s
//	  - id: sum
//	    run: cat count.* | sort > total.txt
//	    inputs: ["count.*"]
//	    outputs: [total.txt]
//
// A task waits for those that make its inputs, and for those that after names. An
// input that no task makes must be there. A task finds its inputs and the files of
// the workflow in its folder, and nothing else; its outputs are brought back.
package flowfile
