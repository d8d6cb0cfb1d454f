package workload

import "github.com/godwit-hpc/godwit/internal/swf"

// malformed is the reason for which a lenient reading leaves out a record that
// is no record.
const malformed = "is not a valid SWF record"

// ReadTrace reads the trace file at o.File and makes jobs of it. With
// o.Lenient, records that are no valid SWF are left out and counted as well.
func ReadTrace(o TraceOptions) (Source, Stats, error) {
	trace, err := swf.ReadFile(o.File, swf.Options{Lenient: o.Lenient})
	if err != nil {
		return nil, Stats{}, err
	}
	source, stats, err := FromTrace(trace, o)
	if trace.Skipped > 0 {
		stats.Records += trace.Skipped
		stats.Skipped = append(stats.Skipped, Skip{malformed, trace.Skipped})
	}
	return source, stats, err
}
