package localq

// line is the queue in the order of submission. A job that leaves from the
// middle leaves a gap: this way only the line itself is touched, which is
// small, and not the jobs before and after, which are anywhere in memory.
type line struct {
	places []int32 // jobs; none in a gap
	front  int     // all before it are gaps
	length int     // jobs in it
}

// pushJob appends a job.
func (l *line) pushJob(jobs []job, at int32) {
	if len(l.places) == cap(l.places) && l.length <= len(l.places)/2 {
		l.compactLine(jobs)
	}
	jobs[at].place = int32(len(l.places))
	l.places = append(l.places, at)
	l.length++
}

// removeJob takes a job out.
func (l *line) removeJob(j *job) {
	l.places[j.place] = none
	l.length--
}

// firstJob is the job at the front, or none.
func (l *line) firstJob() int32 {
	for l.front < len(l.places) {
		if at := l.places[l.front]; at != none {
			return at
		}
		l.front++
	}
	return none
}

// compactLine moves up. It costs as much as the pushes since the last time.
func (l *line) compactLine(jobs []job) {
	n := 0
	for _, at := range l.places[l.front:] {
		if at != none {
			l.places[n], jobs[at].place = at, int32(n)
			n++
		}
	}
	l.places, l.front = l.places[:n], 0
}
