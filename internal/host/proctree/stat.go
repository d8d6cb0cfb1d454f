package proctree

import (
	"bytes"
	"errors"
	"time"
)

// tick is the unit of times in /proc. The kernel shows 100 a second to every
// program, whatever it counts in itself.
const tick = 10 * time.Millisecond

// stat is what we read of /proc/PID/stat.
type stat struct {
	pid     int
	comm    string // the first 15 bytes of its name, whatever they are
	state   byte
	ppid    int
	pgrp    int
	session int
	own     time.Duration // user and system time of all its threads
	kids    time.Duration // of the children it has waited for, and theirs
	threads int
	start   uint64 // ticks after boot: with pid, an identity
	rss     int64  // pages
}

// isZombie reports whether it has ended and was not waited for yet. With threads
// left it has not: only its first thread has.
func (s *stat) isZombie() bool { return (s.state == 'Z' || s.state == 'X') && s.threads <= 1 }

// isStill reports whether it does not run until it is told to.
func (s *stat) isStill() bool { return s.state == 'T' || s.state == 't' || s.isZombie() }

var errStat = errors.New("not a line of /proc/PID/stat")

// parseStat reads a line of /proc/PID/stat. The name stands in parentheses and
// may itself hold parentheses, blanks and line feeds, so the last parenthesis
// ends it.
func parseStat(line []byte, withName bool) (stat, error) {
	var s stat
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return s, errStat
	}
	head := fields{rest: line[:open]}
	s.pid = int(head.nextNumber())
	if withName {
		s.comm = string(line[open+1 : end])
	}
	f := fields{rest: line[end+1:]}
	if state := f.nextField(); len(state) == 1 {
		s.state = state[0]
	} else {
		return s, errStat
	}
	s.ppid = int(f.nextNumber())
	s.pgrp = int(f.nextNumber())
	s.session = int(f.nextNumber())
	f.skipFields(7) // tty_nr tpgid flags minflt cminflt majflt cmajflt
	s.own = f.nextTicks() + f.nextTicks()
	s.kids = f.nextTicks() + f.nextTicks()
	f.skipFields(2) // priority nice
	s.threads = int(f.nextNumber())
	f.skipFields(1) // itrealvalue
	s.start = uint64(f.nextNumber())
	f.skipFields(1) // vsize
	s.rss = f.nextNumber()
	if head.bad || f.bad || s.pid <= 0 {
		return s, errStat
	}
	return s, nil
}

// parseProcessor finds in a line of /proc/PID/stat the processor that the thread
// ran on last.
func parseProcessor(line []byte) (int, bool) {
	f := fields{rest: line[bytes.LastIndexByte(line, ')')+1:]}
	f.skipFields(36) // state to exit_signal
	cpu := f.nextNumber()
	return int(cpu), !f.bad && cpu >= 0
}

// ioCount is what we read of /proc/PID/io. The children that a process has
// waited for are in it.
type ioCount struct {
	read, written, diskRead, diskWritten int64
}

func (a ioCount) addCount(b ioCount) ioCount {
	return ioCount{a.read + b.read, a.written + b.written, a.diskRead + b.diskRead, a.diskWritten + b.diskWritten}
}

func (a ioCount) atLeast(b ioCount) ioCount {
	return ioCount{max(a.read, b.read), max(a.written, b.written), max(a.diskRead, b.diskRead), max(a.diskWritten, b.diskWritten)}
}

// parseIO reads /proc/PID/io; what is not there is 0.
func parseIO(text []byte) ioCount {
	var c ioCount
	for len(text) > 0 {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		i := bytes.IndexByte(line, ':')
		if i < 0 {
			continue
		}
		f := fields{rest: line[i+1:]}
		n := f.nextNumber()
		if f.bad {
			continue
		}
		switch string(line[:i]) {
		case "rchar":
			c.read = n
		case "wchar":
			c.written = n
		case "read_bytes":
			c.diskRead = n
		case "write_bytes":
			c.diskWritten = n
		}
	}
	return c
}

// afterKey finds the value of a line "key:\tvalue" of /proc/PID/status.
func afterKey(text []byte, key string) ([]byte, bool) {
	for len(text) > 0 {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		if len(line) > len(key) && line[len(key)] == ':' && string(line[:len(key)]) == key {
			return bytes.TrimSpace(line[len(key)+1:]), true
		}
	}
	return nil, false
}

// fields reads blank-separated numbers without making garbage: a sample reads
// dozens of files every two seconds for as long as a job runs.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) nextField() []byte {
	i := 0
	for i < len(f.rest) && (f.rest[i] == ' ' || f.rest[i] == '\t' || f.rest[i] == '\n') {
		i++
	}
	start := i
	for i < len(f.rest) && f.rest[i] != ' ' && f.rest[i] != '\t' && f.rest[i] != '\n' {
		i++
	}
	word := f.rest[start:i]
	f.rest = f.rest[i:]
	return word
}

func (f *fields) skipFields(n int) {
	for range n {
		f.nextField()
	}
}

// maxNumber keeps sums of what /proc says far from overflow.
const maxNumber = 1 << 52

func (f *fields) nextNumber() int64 {
	word := f.nextField()
	negative := len(word) > 0 && word[0] == '-'
	if negative {
		word = word[1:]
	}
	if len(word) == 0 {
		f.bad = true
		return 0
	}
	var n int64
	for _, c := range word {
		if c < '0' || c > '9' {
			f.bad = true
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
func (f *fields) nextTicks() time.Duration {
	return time.Duration(min(max(f.nextNumber(), 0), maxNumber/int64(tick))) * tick
}

// parsePids reads a list of process numbers, as in /proc/PID/task/TID/children.
func parsePids(text []byte, into []int) []int {
	f := fields{rest: text}
	for {
		word := f.nextField()
		if len(word) == 0 {
			return into
		}
		n := fields{rest: word}
		if pid := n.nextNumber(); !n.bad && pid > 0 && pid < maxNumber {
			into = append(into, int(pid))
		}
	}
}
