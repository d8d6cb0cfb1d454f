package jobfile

import (
	"errors"
	"strconv"
	"strings"
)

// Dependency is another job, and what must have happened to it.
type Dependency struct {
	Job  string `json:"job,omitempty"` // its number, NUMBER_INDEX for one job of an array, or its name
	When When   `json:"when,omitempty"`
	Each bool   `json:"each,omitempty"` // of an array: each job waits for the one with its own index
}

// When says what a job waits for.
type When string

// What must have happened to the other job.
const (
	WentWell When = ""          // it has ended with exit code 0
	Over     When = "over"      // it has ended, however
	Failed   When = "failed"    // it has ended, and not well
	Begun    When = "begun"     // it has started, or ended
	Alone    When = "singleton" // all earlier jobs of the same name have ended; Job is empty
)

// afterWords are the words of Slurm for it, which are ours too.
var afterWords = map[string]Dependency{
	"afterok": {}, "afterany": {When: Over}, "afternotok": {When: Failed}, "after": {When: Begun},
	"aftercorr": {Each: true},
}

const wantAfter = "jobs by number or name such as 12 or prep, or afterany:12, afternotok:12, after:12, aftercorr:12, " +
	"singleton"

// ParseAfter reads jobs to wait for: 12,prep,afterany:13:14. bare is what one
// without a word before it means.
func ParseAfter(text string, bare When) ([]Dependency, error) {
	if strings.Contains(text, "?") {
		return nil, errors.New("jobs separated by commas, all of which are waited for; that one of several is enough is " +
			"not supported")
	}
	var list []Dependency
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "singleton" {
			list = append(list, Dependency{When: Alone})
			continue
		}
		word, rest, has := strings.Cut(item, ":")
		d, known := Dependency{When: bare}, true
		if has {
			d, known = afterWords[word]
		} else {
			rest = item
		}
		if !known {
			return nil, errors.New(wantAfter)
		}
		for ref := range strings.SplitSeq(rest, ":") {
			if d.Job = ref; !isJob(ref) {
				return nil, errors.New(wantAfter)
			}
			list = append(list, d)
		}
	}
	return list, nil
}

// isJob says whether a text can name a job: a number, one of an array, a name.
func isJob(text string) bool {
	_, err := parseName(text)
	return err == nil
}

// JobNumber is the number of the job, and the index in the array if it names one;
// false if it is a name.
func (d *Dependency) JobNumber() (id int64, index int, inArray, ok bool) {
	number, at, inArray := strings.Cut(d.Job, "_")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 1 {
		return 0, 0, false, false
	}
	if inArray {
		if index, err = strconv.Atoi(at); err != nil || index < 0 {
			return 0, 0, false, false
		}
	}
	return id, index, inArray, true
}

// applyAfter is the flag. What was listed elsewhere is replaced by the first.
func applyAfter(d *Draft, value string) error {
	list, err := ParseAfter(value, WentWell)
	if err == nil {
		d.replaceList("after", func() { d.After = nil })
		d.After = append(d.After, list...)
	}
	return err
}
