package swf

import (
	"cmp"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Trace is a whole trace in memory.
type Trace struct {
	Header    Header
	Records   []Record // by submit time; those of the same moment in the order of the file
	Displaced int      // records that stood after one submitted later
	Skipped   int      // records left out because they were wrong (lenient only)
	Reasons   []error  // what was wrong with the first of those
}

// ReadFile reads the trace at path.
func ReadFile(path string, opts Options) (*Trace, error) {
	f, err := openTrace(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	return ReadAll(f, path, opts)
}

// ReadHeader reads what the comments before the first record of the trace at path say.
func ReadHeader(path string) (*Header, error) {
	f, err := openTrace(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	reader := NewReader(f, path, Options{Lenient: true})
	if _, err := reader.NextRecord(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return reader.Header(), nil
}

func openTrace(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err == nil {
		return f, nil
	}
	return nil, badinput.UnreadableFile(path, err)
}

// ReadAll reads a whole trace from r; name is for messages.
func ReadAll(r io.Reader, name string, opts Options) (*Trace, error) {
	reader := NewReader(r, name, opts)
	t := &Trace{}
	for {
		rec, err := reader.NextRecord()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n := len(t.Records); n > 0 && rec.Submit < t.Records[n-1].Submit {
			t.Displaced++
		}
		t.Records = append(t.Records, rec)
	}
	t.Header = *reader.Header()
	t.Skipped, t.Reasons = reader.SkippedRecords()
	if t.Displaced > 0 {
		t.Records = bySubmit(t.Records)
	}
	return t, nil
}

// bySubmit puts records in the order of submission; those of one second by
// their job number, which a file that is sorted otherwise (results are often
// written as jobs complete) does not keep, and then as they stand. It sorts
// positions and moves each record once, because the records are large.
func bySubmit(records []Record) []Record {
	order := make([]int32, len(records))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(records[a].Submit, records[b].Submit),
			cmp.Compare(records[a].ID, records[b].ID), cmp.Compare(a, b))
	})
	sorted := make([]Record, len(records))
	for i, at := range order {
		sorted[i] = records[at]
	}
	return sorted
}
