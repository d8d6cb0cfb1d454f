package workload

import (
	"errors"
	"os"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/format/swf"
)

// malformed is the reason for which a lenient reading leaves out a record that
// is no record.
const malformed = "is not a valid SWF record"

// ReadTrace reads the trace file at o.File and makes jobs of it: SWF, or the exported log of a
// live broker. With o.Lenient, records that are no valid SWF are left out and counted as well.
func ReadTrace(o TraceOptions) (Source, Stats, error) {
	read := func() (*swf.Trace, error) { return swf.ReadFile(o.File, swf.Options{Lenient: o.Lenient}) }
	if brokerlog.IsFile(o.File) {
		read = func() (*swf.Trace, error) { return readBrokerLog(o.File) }
	}
	trace, err := read()
	if err != nil {
		return nil, Stats{}, err
	}
	source, stats, err := FromTrace(trace, o)
	var large *tooLargeError
	if errors.As(err, &large) {
		large.bad.Line = lineOf(o.File, large.job)
	}
	if trace.Skipped > 0 {
		stats.Records += trace.Skipped
		stats.Skipped = append(stats.Skipped, Skip{malformed, trace.Skipped})
	}
	return source, stats, err
}

// tooLargeError is a job that is larger than every cluster.
type tooLargeError struct {
	bad *badinput.Error
	job int64
}

func (e *tooLargeError) Error() string { return e.bad.Error() }
func (e *tooLargeError) Unwrap() error { return e.bad }

// lineOf finds the line of a job, 0 if it cannot. Records do not keep their
// lines: reading once more costs only those whose trace is wrong.
func lineOf(path string, job int64) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }() // only read from
	r := swf.NewReader(f, path, swf.Options{Lenient: true})
	for {
		record, err := r.NextRecord()
		switch {
		case err != nil:
			return 0
		case record.ID == job && !record.Status.IsPartial():
			return r.Line()
		}
	}
}
