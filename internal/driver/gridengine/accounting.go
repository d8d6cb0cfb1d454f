package gridengine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// record is one line of the accounting file: a job, or a task of one, that
// ended.
type record struct {
	Host   string
	Owner  string
	Job    string
	Failed int
	Exit   int
	Wall   float64 // seconds
	Limit  float64 // h_rt, seconds; 0: none
}

// Columns of the accounting file, see accounting(5).
const (
	colHost     = 1
	colOwner    = 3
	colJob      = 5
	colFailed   = 11
	colExit     = 12
	colWall     = 13
	colCategory = 39
	minColumns  = 14 // columns that a line has
)

// parseRecord reads one line.
func parseRecord(line string) (record, bool) {
	if strings.HasPrefix(line, "#") {
		return record{}, false
	}
	f := strings.Split(line, ":")
	if len(f) < minColumns {
		return record{}, false
	}
	failed, err1 := strconv.Atoi(f[colFailed])
	exit, err2 := strconv.Atoi(f[colExit])
	wall, err3 := strconv.ParseFloat(f[colWall], 64)
	if errors.Join(err1, err2, err3) != nil || !jobNumber().MatchString(f[colJob]) {
		return record{}, false
	}
	r := record{Host: f[colHost], Owner: f[colOwner], Job: f[colJob], Failed: failed, Exit: exit, Wall: wall}
	if len(f) > colCategory {
		r.Limit = limitOf(strings.Join(f[colCategory:], ":"))
	}
	return r, true
}

// limitOf finds the h_rt of a category such as "-q all.q -l h_rt=60,arch=x".
func limitOf(category string) float64 {
	_, rest, ok := strings.Cut(category, "h_rt=")
	if !ok {
		return 0
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	limit, err := strconv.ParseFloat(rest[:end], 64)
	if err != nil {
		return 0
	}
	return limit
}

// meanings are what the numbers in the column failed say, see
// sge_status(5).
var meanings = map[int]string{
	1: "assumedly before job", 3: "before writing config", 4: "before writing PID", 6: "setting processor set",
	7: "before prolog", 8: "in prolog",
	9: "before pestart", 10: "in pestart", 11: "before job", 12: "before pestop", 13: "in pestop", 14: "before epilog",
	15: "in epilog",
	16: "releasing processor set", 17: "through signal", 18: "shepherd returned error", 19: "before writing exit_status",
	20: "found unexpected error file",
	21: "in recognizing job", 22: "in recognizing job (slave)", 24: "migrating", 25: "rescheduling",
	26: "opening input/output file", 27: "searching requested shell",
	28: "changing into working directory", 29: "invalid execution state", 30: "rescheduling on application error",
	31: "accessing sgepasswd file",
	32: "entry is missing in password file", 33: "wrong password", 34: "communicating with Grid Engine Helper Service",
	35: "before job in Grid Engine Helper Service",
	36: "checking configured daemons", 37: "a limit of time or memory was enforced", 38: "adding supplementary group",
	100: "assumedly after job",
}

// Which of them say that the host, or what runs jobs there, is to blame, and which
// that the cell wanted the job elsewhere. What stands in neither may be the job's
// own fault.
var (
	byHost = []int{1, 3, 4, 6, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22, 29, 38}
	byCell = []int{24, 25}
)

// What Grid Engine calls a job that was ended by a signal, or by a limit.
const died, enforced = 100, 37

// toEnding is how a job ended.
func (r record) toEnding() batch.Ending {
	e := batch.Ending{Code: r.Exit}
	// A shell's way to tell of a signal.
	if signal := r.Exit - 128; r.Failed != 0 && signal > 0 && signal < 65 {
		e.Signal = signal
	}
	late := r.Limit > 0 && r.Wall >= r.Limit
	words := meanings[r.Failed]
	switch {
	case r.Failed == 0:
		e.How = fmt.Sprintf("exit status %d", r.Exit)
		return e
	case late && (r.Failed == enforced || r.Failed == died && e.Signal != 0):
		words = fmt.Sprintf("time limit h_rt=%.0f reached", r.Limit)
	case r.Failed == died && e.Signal != 0:
		words, e.Cause = "killed, as by qdel", jobfile.Preempted
	case words == "":
		words = "for a reason that has no name"
	}
	if slices.Contains(byHost, r.Failed) {
		e.Cause = jobfile.NodeFail
	} else if slices.Contains(byCell, r.Failed) {
		e.Cause = jobfile.Preempted
	}
	e.How = fmt.Sprintf("failed %d on %s: %s", r.Failed, r.Host, words)
	return e
}

// The accounting file is read backwards, so much of it: whoever is looked for
// ended lately.
const (
	readChunk   = 256 << 10
	maxReadBack = 64 << 20
)

// lastRecords finds the newest record of each job in an accounting file.
func lastRecords(f io.ReaderAt, size int64, wanted map[string]bool) (map[string]record, error) {
	found := map[string]record{}
	var tail []byte // begins in the middle of a line
	for end, stop := size, max(0, size-maxReadBack); end > stop && len(found) < len(wanted); {
		start := max(stop, end-readChunk)
		buf := make([]byte, end-start, int(end-start)+len(tail))
		if _, err := f.ReadAt(buf, start); err != nil && !errors.Is(err, io.EOF) {
			return found, err
		}
		buf = append(buf, tail...)
		for {
			i := bytes.LastIndexByte(buf, '\n')
			if i < 0 {
				break
			}
			noteLine(found, wanted, buf[i+1:])
			buf = buf[:i]
		}
		tail, end = buf, start
		if start == 0 {
			noteLine(found, wanted, buf)
		}
		if len(tail) > readChunk {
			return found, errors.New("the accounting file has no lines")
		}
	}
	return found, nil
}

// noteLine takes a line, newest first. Of most lines the number of the job is enough.
func noteLine(found map[string]record, wanted map[string]bool, line []byte) {
	rest := line
	for range colJob {
		i := bytes.IndexByte(rest, ':')
		if i < 0 {
			return
		}
		rest = rest[i+1:]
	}
	job, _, ok := bytes.Cut(rest, []byte{':'})
	if !ok || !wanted[string(job)] {
		return
	}
	if _, ok := found[string(job)]; ok {
		return
	}
	if r, ok := parseRecord(string(line)); ok {
		found[r.Job] = r
	}
}

// readAccounting looks jobs up in the file.
func readAccounting(path string, wanted map[string]bool) (map[string]record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return lastRecords(f, info.Size(), wanted)
}
