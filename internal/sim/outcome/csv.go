package outcome

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// csvHeader names the columns; they are part of the surface.
const csvHeader = "id,submit,start,end,min,max,mean_size,max_size,cluster\n"

// Names is how a CSV calls jobs and clusters.
type Names struct {
	Labels   []int64  // of the jobs; nil: their numbers
	Clusters []string // by number
}

// WriteCSV writes one row a job, in the order of submission. Times are in
// seconds; what did not happen (start and end of a job that was never placed)
// is empty. The clusters of a job that ran in several are joined by +.
func (c *Collector) WriteCSV(w io.Writer, names Names) error {
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString(csvHeader)
	row := make([]byte, 0, 128)
	for i := range c.records {
		row = c.appendRow(row[:0], i, &names)
		out.Write(row)
	}
	return out.Flush()
}

func (c *Collector) appendRow(b []byte, i int, names *Names) []byte {
	r := &c.records[i]
	label := int64(i + 1)
	if names.Labels != nil {
		label = names.Labels[i]
	}
	b = strconv.AppendInt(b, label, 10)
	for _, t := range []core.Time{r.Submit, r.Start, r.End} {
		b = appendSeconds(append(b, ','), t)
	}
	b = strconv.AppendInt(append(b, ','), int64(r.Min), 10)
	b = strconv.AppendInt(append(b, ','), int64(r.Max), 10)
	b = appendDecimal(append(b, ','), r.MeanSize())
	b = strconv.AppendInt(append(b, ','), int64(r.MaxSize), 10)
	b = append(b, ',')
	b = append(b, quoteCSV(c.clusterNames(i, names))...)
	return append(b, '\n')
}

func (c *Collector) clusterNames(i int, names *Names) string {
	r := &c.records[i]
	if r.Cluster == core.Nowhere {
		return ""
	}
	list := c.spread[core.JobID(i+1)]
	if list == nil {
		return names.Clusters[r.Cluster]
	}
	all := make([]string, len(list))
	for k, id := range list {
		all[k] = names.Clusters[id]
	}
	return strings.Join(all, "+")
}

// quoteCSV protects a name that would break a row.
func quoteCSV(name string) string {
	if !strings.ContainsAny(name, ",\"\r\n") {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// appendSeconds writes a moment in seconds, exactly and without needless
// digits; nothing for core.Never.
func appendSeconds(b []byte, t core.Time) []byte {
	if t == core.Never {
		return b
	}
	if t < 0 {
		b, t = append(b, '-'), -t
	}
	b = strconv.AppendInt(b, int64(t)/int64(time.Second), 10)
	nanos := int64(t) % int64(time.Second)
	if nanos == 0 {
		return b
	}
	b = append(b, '.')
	for digit := int64(time.Second) / 10; nanos > 0; digit /= 10 {
		b = append(b, byte('0'+nanos/digit))
		nanos %= digit
	}
	return b
}

// appendDecimal writes a number with at most six decimals, none of them a
// needless zero.
func appendDecimal(b []byte, x float64) []byte {
	return strconv.AppendFloat(b, math.Round(x*1e6)/1e6, 'f', -1, 64)
}
