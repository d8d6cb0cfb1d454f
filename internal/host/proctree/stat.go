package proctree

import (
	"bytes"
	"errors"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/proctable"
)

// tick is the unit of times in /proc.
const tick = proctable.Tick

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

// parseStat reads a line of /proc/PID/stat.
func parseStat(line []byte, withName bool) (stat, error) {
	p, ok := proctable.ParseStat(line, withName)
	if !ok {
		return stat{}, errStat
	}
	return stat{pid: p.Pid, comm: p.Name, state: p.State, ppid: p.Parent, pgrp: p.Group, session: p.Session,
		own: p.CPUTime, kids: p.ChildTime, threads: p.Threads, start: uint64(p.Started), rss: p.Pages}, nil
}

// parseProcessor finds in a line of /proc/PID/stat the processor that the thread
// ran on last.
func parseProcessor(line []byte) (int, bool) {
	p, ok := proctable.ParseStat(line, false)
	return p.CPU, ok && p.CPU >= 0
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
	return ioCount{max(a.read, b.read), max(a.written, b.written), max(a.diskRead, b.diskRead),
		max(a.diskWritten, b.diskWritten)}
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
		f := proctable.Fields{Rest: line[i+1:]}
		n := f.NextNumber()
		if f.Bad {
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
