package swf

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/recordings"
)

func TestRealTracesAreReadWhole(t *testing.T) {
	for name, want := range map[string]struct{ records, usable, procs int }{
		"ANL-Theta-2022.swf.gz":                   {23911, 23911, 4360},
		"CEA-Curie-2011.sample.swf.gz":            {36352, 36351, 93312},
		"HPC2N-2002.excerpt3194.swf.gz":           {3170, 3145, 240},
		"KTH-SP2-1996-2.swf.gz":                   {28489, 28489, 100},
		"KTH-SP2-1996-2.pyss-filtered.swf.gz":     {28481, 28481, 100},
		"LCG-2005-1.swf.gz":                       {188041, 188041, 24515},
		"LLNL-Atlas-2006-2.1-cln.swf.gz":          {43778, 39207, 9216},
		"NASA-iPSC-1993-3.1-cln.swf.gz":           {18239, 18239, 128},
		"lublin_256.swf.gz":                       {10000, 10000, 256},
		"pyss_easy_reference/KTH-SP2.EASY.swf.gz": {28481, 28481, 100},
	} {
		path := recordings.OrGenerated(t, "swf", filepath.FromSlash(name))
		if path == "" {
			readsWhole(t, generated(t, 1000), 1000)
			continue
		}
		trace, err := ReadFile(path, Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		usable := 0
		for i := range trace.Records {
			if ok, _ := trace.Records[i].IsUsable(); ok {
				usable++
			}
		}
		if len(trace.Records) != want.records || usable != want.usable || trace.Header.ProcessorCount() != want.procs {
			t.Errorf("%s: %d records, %d usable, %d processors; want %+v",
				name, len(trace.Records), usable, trace.Header.ProcessorCount(), want)
		}
	}
}

func readsWhole(t *testing.T, text []byte, want int) {
	t.Helper()
	trace, err := ReadAll(bytes.NewReader(text), "generated", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(trace.Records) != want {
		t.Errorf("%d records, want %d", len(trace.Records), want)
	}
}
