package proctable

import "time"

// Fields reads blank-separated numbers without making garbage: a sample reads
// dozens of files every two seconds for as long as a job runs.
type Fields struct {
	Rest []byte
	Bad  bool // something was no number
}

// NextField is the next word; none at the end.
func (f *Fields) NextField() []byte {
	i := 0
	for i < len(f.Rest) && (f.Rest[i] == ' ' || f.Rest[i] == '\t' || f.Rest[i] == '\n') {
		i++
	}
	start := i
	for i < len(f.Rest) && f.Rest[i] != ' ' && f.Rest[i] != '\t' && f.Rest[i] != '\n' {
		i++
	}
	word := f.Rest[start:i]
	f.Rest = f.Rest[i:]
	return word
}

// SkipFields leaves words out.
func (f *Fields) SkipFields(n int) {
	for range n {
		f.NextField()
	}
}

// maxNumber keeps sums of what /proc says far from overflow.
const maxNumber = 1 << 52

// NextNumber is the next word as a number.
func (f *Fields) NextNumber() int64 {
	word := f.NextField()
	negative := len(word) > 0 && word[0] == '-'
	if negative {
		word = word[1:]
	}
	if len(word) == 0 {
		f.Bad = true
		return 0
	}
	var n int64
	for _, c := range word {
		if c < '0' || c > '9' {
			f.Bad = true
			return 0
		}
		if n = n*10 + int64(c-'0'); n > maxNumber {
			n = maxNumber
		}
	}
	if negative {
		return -n
	}
	return n
}

// nextTicks is a number of ticks; what goes below zero in some kernels is zero.
func (f *Fields) nextTicks() time.Duration {
	return time.Duration(min(max(f.NextNumber(), 0), maxNumber/int64(Tick))) * Tick
}

// ParsePids reads a list of process numbers, as in /proc/PID/task/TID/children.
func ParsePids(text []byte, into []int) []int {
	f := Fields{Rest: text}
	for {
		word := f.NextField()
		if len(word) == 0 {
			return into
		}
		n := Fields{Rest: word}
		if pid := n.NextNumber(); !n.Bad && pid > 0 && pid < maxNumber {
			into = append(into, int(pid))
		}
	}
}
