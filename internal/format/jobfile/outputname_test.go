package jobfile

import "testing"

func TestNamesOfOutputFiles(t *testing.T) {
	w := Writer{Job: 17, Array: 12, Index: 5, Name: "fit", Host: "n1", User: "eve", NoIndex: "none"}
	for pattern, want := range map[string]string{
		"slurm-%A_%a.out": "slurm-12_5.out", "%x-%j": "fit-17", "%4a": "0005", "%N.%u": "n1.eve", "100%%": "100%", "%": "%",
		"a%":   "a%",
		"%q%a": "%q5", "%3": "%3", "%99j": "0000000017", "%5x": "fit",
	} {
		if got := OutputName(pattern, w); got != want {
			t.Errorf("%s is %s, want %s", pattern, got, want)
		}
	}
	w.Array = 0
	if got := OutputName("%A_%a", w); got != "17_none" {
		t.Error(got)
	}
}
