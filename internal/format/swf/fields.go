package swf

import (
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// numFields is how many numbers a record has.
const numFields = 18

// kind is what the number in a field counts, and so how it is stored.
type kind uint8

const (
	wholeNumber kind = iota // no fraction
	duration                // seconds with a fraction, stored in nanoseconds
	amount                  // rounded to the nearest whole number
)

// field is the rule for one of the 18 numbers.
type field struct {
	name string
	kind kind
	max  int64 // the largest value that can be stored
	must bool  // may not be Unknown
}

// maxSeconds fits a time.Duration whatever fraction follows.
const maxSeconds = math.MaxInt64/int64(time.Second) - 1

var fields = [numFields]field{
	{name: "job number", kind: wholeNumber, max: math.MaxInt64, must: true},
	{name: "submit time", kind: duration, max: maxSeconds, must: true},
	{name: "wait time", kind: duration, max: maxSeconds},
	{name: "run time", kind: duration, max: maxSeconds},
	{name: "allocated processors", kind: wholeNumber, max: math.MaxInt32},
	{name: "average CPU time", kind: duration, max: maxSeconds},
	{name: "used memory", kind: amount, max: math.MaxInt64},
	{name: "requested processors", kind: wholeNumber, max: math.MaxInt32},
	{name: "requested time", kind: duration, max: maxSeconds},
	{name: "requested memory", kind: amount, max: math.MaxInt64},
	{name: "status", kind: wholeNumber, max: math.MaxInt8},
	{name: "user", kind: wholeNumber, max: math.MaxInt32},
	{name: "group", kind: wholeNumber, max: math.MaxInt32},
	{name: "executable", kind: wholeNumber, max: math.MaxInt32},
	{name: "queue", kind: wholeNumber, max: math.MaxInt32},
	{name: "partition", kind: wholeNumber, max: math.MaxInt32},
	{name: "preceding job", kind: wholeNumber, max: math.MaxInt64},
	{name: "think time", kind: duration, max: maxSeconds},
}

// recordFromNumbers gives the 18 numbers of a line, checked and scaled, their names.
func recordFromNumbers(v *[numFields]int64) Record {
	return Record{
		ID:              v[0],
		Submit:          core.Time(v[1]),
		Wait:            time.Duration(v[2]),
		Run:             time.Duration(v[3]),
		Allocated:       int32(v[4]),
		CPU:             time.Duration(v[5]),
		Memory:          v[6],
		RequestedProcs:  int32(v[7]),
		RequestedTime:   time.Duration(v[8]),
		RequestedMemory: v[9],
		Status:          Status(v[10]),
		User:            int32(v[11]),
		Group:           int32(v[12]),
		App:             int32(v[13]),
		Queue:           int32(v[14]),
		Partition:       int32(v[15]),
		Preceding:       v[16],
		Think:           time.Duration(v[17]),
	}
}
