package history

import (
	"math"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Key says what runs are to be like those that are asked about (spec 20):
// where, whose, which program, at what hour of the day, how long, and whether
// begun there or continued.
type Key struct {
	Cluster  string
	User     string
	Program  string
	Hour     int // of the day, UTC, 0 to 23; -1 if it does not matter
	Length   int // see LengthClass; 0 if unknown
	Migrated bool
}

// HourOf is the hour of the day in UTC.
func HourOf(t core.Time) int { return time.Unix(0, int64(t)).UTC().Hour() }

// LengthClass sorts jobs by how long they are expected to run: 1 up to a
// minute, 2 up to ten, 3 up to an hour, 4 up to eight, 5 more; 0 if unknown.
func LengthClass(seconds float64) int {
	switch {
	case seconds <= 0 || math.IsNaN(seconds):
		return 0
	case seconds <= 60:
		return 1
	case seconds <= 600:
		return 2
	case seconds <= 3600:
		return 3
	case seconds <= 8*3600:
		return 4
	}
	return 5
}

// KeyOf is the key of a run.
func KeyOf(r *Run) Key {
	return Key{Cluster: r.Cluster, User: r.User, Program: r.Program, Hour: HourOf(r.Requested), Length: LengthClass(r.Length), Migrated: r.Migrated}
}

// The properties of a key, in the order in which they are dropped when there
// are too few runs that share all.
const (
	ofProgram = 1 << iota
	ofUser
	ofHour
	ofStart
	ofLength
	ofCluster
)

var backOff = [...]int{
	ofCluster | ofLength | ofStart | ofHour | ofUser | ofProgram,
	ofCluster | ofLength | ofStart | ofHour | ofUser,
	ofCluster | ofLength | ofStart | ofHour,
	ofCluster | ofLength | ofStart,
	ofCluster | ofLength,
	ofCluster,
}

// propertyNames say what the runs have in common, for people.
var propertyNames = [...]struct {
	property int
	name     string
}{{ofProgram, "program"}, {ofUser, "user"}, {ofHour, "hour of day"}, {ofStart, "way of starting"}, {ofLength, "length"}, {ofCluster, "cluster"}}

// RunsLike picks the runs that are most like the key: those that share all its
// properties if there are at least `least`, else fewer properties, at last the
// cluster alone. why says what they share.
func RunsLike(rows []Run, key Key, least int) (like []Run, why string) {
	for level, properties := range backOff {
		like = like[:0]
		for i := range rows {
			if key.sharesProperties(&rows[i], properties) {
				like = append(like, rows[i])
			}
		}
		if len(like) >= least || level == len(backOff)-1 {
			return like, sharedProperties(properties)
		}
	}
	return nil, ""
}

func (k *Key) sharesProperties(r *Run, properties int) bool {
	of := KeyOf(r)
	return (properties&ofCluster == 0 || of.Cluster == k.Cluster) &&
		(properties&ofLength == 0 || of.Length == k.Length) &&
		(properties&ofStart == 0 || of.Migrated == k.Migrated) &&
		(properties&ofHour == 0 || k.Hour < 0 || areHoursNear(of.Hour, k.Hour)) &&
		(properties&ofUser == 0 || of.User == k.User) &&
		(properties&ofProgram == 0 || of.Program == k.Program)
}

// areHoursNear reports whether two hours are at most one apart, over midnight too.
func areHoursNear(a, b int) bool {
	d := (a - b + 24) % 24
	return d <= 1 || d == 23
}

func sharedProperties(properties int) string {
	var names []string
	for _, p := range propertyNames {
		if properties&p.property != 0 {
			names = append(names, p.name)
		}
	}
	return "same " + strings.Join(names, ", ")
}
