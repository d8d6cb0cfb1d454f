package wire

import (
	"strconv"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// MaxParts is how many parts a job may have at most.
const MaxParts = 1000

// AttemptName is what the files and folders of an attempt are called. Part 0 is not named: the
// attempts of jobs in one cluster are called as by versions that knew no parts.
func AttemptName(job core.JobID, epoch core.Epoch, part int) string {
	name := strconv.FormatInt(int64(job), 10) + "." + strconv.FormatInt(int64(epoch), 10)
	if part > 0 {
		name += "." + strconv.Itoa(part)
	}
	return name
}

// PartMark is the mark of the processes of a part, made of that of the whole attempt: two parts
// may run on one host, and ending one must not end the other.
func PartMark(mark string, part int) string {
	if part == 0 {
		return mark
	}
	return mark + "." + strconv.Itoa(part)
}
