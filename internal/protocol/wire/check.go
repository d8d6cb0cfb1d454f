package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what an agent may say. They are far beyond what real jobs reach and
// keep sums, files and memory of the broker within what it can handle: an agent is
// a process of the job's user on somebody's cluster and may send anything.
const (
	maxSeconds   = 1e10 // 300 years, of wall or CPU time
	maxRatio     = 1e9
	maxBytes     = 1 << 60
	maxQuantiles = 256
	maxHosts     = 100_000
	maxProcs     = 1 << 30
	maxNameBytes = 255 // of a host, a method, a tree, a cause
	maxTextBytes = 16 << 10
	maxInputs    = 64 << 10 // of one entry, as JSON
	maxPath      = 4096
	maxVersion   = 1 << 20
)

// CheckFields complains about a message that no agent of ours sends: numbers that are not
// finite or far from what can be, names that are none. It cuts texts that are too
// long. Whoever takes a message in checks it first.
func (m *Message) CheckFields() error {
	m.Why = cutText(m.Why)
	for _, f := range []struct {
		field, value string
	}{{"mark", m.Mark}, {"method", m.Method}, {"cause", m.Cause}, {"result", m.Result},
		{"release", m.Release}} {
		if err := checkName(f.field, f.value); err != nil {
			return err
		}
	}
	if m.Part < 0 || m.Part >= MaxParts {
		return fmt.Errorf("part: %d is none that a job can have", m.Part)
	}
	if len(m.Outgoing) > maxPath || strings.ContainsRune(m.Outgoing, 0) {
		return fmt.Errorf("outgoing: %d bytes, or a NUL byte in it: no path", len(m.Outgoing))
	}
	if len(m.Hosts) > maxHosts {
		return fmt.Errorf("hosts: %d of them, at most %d", len(m.Hosts), maxHosts)
	}
	for _, name := range m.Hosts {
		if !IsHostName(name) {
			return fmt.Errorf("hosts: %q is not a host name", cutTo(name, 80))
		}
	}
	if err := firstError(m.checkOutput(), m.checkMeeting()); err != nil {
		return err
	}
	if m.Version < 0 || m.Version > maxVersion {
		return fmt.Errorf("version: %d is none", m.Version)
	}
	if m.Size < 0 || m.Size > maxProcs || m.Offer < 0 {
		return fmt.Errorf("size: %d (number %d) is not a number of processors", m.Size, m.Offer)
	}
	if m.Code < math.MinInt16 || m.Code > math.MaxInt16 {
		return fmt.Errorf("code: %d is not an exit code", m.Code)
	}
	return firstError(m.Saved.checkRanges(), m.State.checkRanges(), m.Contract.checkRanges(),
		m.Carried.checkRanges(), m.Entry.checkSize())
}

func (m *Message) checkOutput() error {
	switch {
	case m.Offset < 0 || m.Offset > maxBytes:
		return fmt.Errorf("offset: %d is not a place in a stream", m.Offset)
	case len(m.Data) > MaxData:
		return fmt.Errorf("data: %d bytes, at most %d", len(m.Data), MaxData)
	case m.Kind == Output && m.Stream != 1 && m.Stream != 2:
		return fmt.Errorf("stream: %d, want 1 or 2", m.Stream)
	}
	return nil
}

// checkMeeting looks at what the parts of one MPI program tell each other.
func (m *Message) checkMeeting() error {
	if m.Peer < 0 || m.Peer >= MaxParts {
		return fmt.Errorf("peer: %d is no part that a job can have", m.Peer)
	}
	if len(m.Slots) > len(m.Hosts) {
		return fmt.Errorf("slots: %d numbers for %d hosts", len(m.Slots), len(m.Hosts))
	}
	for _, n := range m.Slots {
		if n < 1 || n > maxProcs {
			return fmt.Errorf("slots: %d is not a number of processors", n)
		}
	}
	if m.Meet == nil {
		return nil
	}
	if err := m.Meet.CheckFields(); err != nil {
		return fmt.Errorf("meet: %w", err)
	}
	for _, address := range m.Meet.Addresses {
		if host, port, err := net.SplitHostPort(address); err != nil || !IsHostName(host) || len(port) > 5 {
			return fmt.Errorf("meet: %q is no address", cutTo(address, 80))
		}
	}
	return nil
}

// IsHostName reports whether a text can be the name or the address of a host. It
// has no slash, so it may be part of a file's name.
func IsHostName(name string) bool {
	if name == "" || len(name) > maxNameBytes || name[0] == '.' || name[0] == '-' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-:%[]", c) >= 0) {
			return false
		}
	}
	return true
}

func (s *Saved) checkRanges() error {
	if s == nil {
		return nil
	}
	for _, n := range []int64{int64(s.N), s.Out, s.Err, s.IO, s.Bytes, s.Moved} {
		if n < 0 || n > maxBytes {
			return fmt.Errorf("saved: %d is out of range", n)
		}
	}
	return firstError(checkName("saved.method", s.Method), checkName("saved.image", s.Image),
		checkName("saved.work", s.Work),
		checkNumber("saved.used", s.Used, 0, maxSeconds), checkNumber("saved.slow", s.Slow, 0, maxRatio),
		checkDuration("saved.frozen", s.Frozen), checkDuration("saved.took", s.Took),
		checkDuration("saved.sending", s.Sending))
}

func (v *Vitals) checkRanges() error {
	if v == nil {
		return nil
	}
	for _, n := range []int64{v.Memory, v.Read, v.Written} {
		if n < 0 || n > maxBytes {
			return fmt.Errorf("state: %d bytes are out of range", n)
		}
	}
	// order-free: any complaint will do
	for field, list := range map[string][]float64{"state.left": v.Left, "state.work": v.Work,
		"state.deviations": v.Deviations} {
		if len(list) > maxQuantiles {
			return fmt.Errorf("%s: %d numbers, at most %d", field, len(list), maxQuantiles)
		}
		for _, q := range list {
			if err := checkNumber(field, q, -maxSeconds, maxSeconds*maxRatio); err != nil {
				return err
			}
		}
	}
	v.Model = cutTo(v.Model, maxNameBytes)
	if err := v.checkHosts(); err != nil {
		return err
	}
	return firstError(checkNumber("state.cpu_s", v.CPU, 0, maxSeconds), checkNumber("state.used_s", v.Used, 0, maxSeconds),
		checkNumber("state.wall_s", v.Wall, 0, maxSeconds), checkNumber("state.busy_s", v.Busy, 0, maxSeconds),
		checkNumber("state.idle_s", v.Idle, 0, maxSeconds), checkNumber("state.share", v.Share, 0, maxRatio),
		checkNumber("state.mean_share", v.Mean, 0, maxRatio), checkNumber("state.done", v.Done, -1, maxRatio),
		checkNumber("state.chance", v.Chance, -1, 1), checkNumber("state.save_s", v.SaveCost, 0, maxSeconds),
		checkNumber("state.sandbox_cost", v.SandboxCost, 0, maxRatio), checkNumber("state.slowness", v.Slowness, 0, maxRatio),
		checkName("state.method", v.Method))
}

func (v *Vitals) checkHosts() error {
	if len(v.Hosts) > maxHosts {
		return fmt.Errorf("state.hosts: %d of them, at most %d", len(v.Hosts), maxHosts)
	}
	for i := range v.Hosts {
		h := &v.Hosts[i]
		h.Away, h.Ranks = cutTo(oneLine(h.Away), maxNameBytes), cutTo(h.Ranks, maxNameBytes)
		if !IsHostName(h.Host) {
			return fmt.Errorf("state.hosts: %q is not a host name", cutTo(h.Host, 80))
		}
		if h.Memory < 0 || h.Memory > maxBytes || h.EndedRanks < 0 || h.EndedRanks > maxProcs {
			return fmt.Errorf("state.hosts: %d bytes or %d ranks are out of range", h.Memory, h.EndedRanks)
		}
		if err := firstError(checkNumber("state.hosts.cpu_s", h.CPU, 0, maxSeconds),
			checkNumber("state.hosts.share", h.Share, -1, maxRatio), checkName("state.hosts.ranks", h.Ranks)); err != nil {
			return err
		}
	}
	return nil
}

// oneLine is a text with spaces for what would end a line, or is no text.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
}

// maxPoints bounds the ratios of a contract that are told.
const maxPoints = 4096

func (c *ContractState) checkRanges() error {
	if c == nil {
		return nil
	}
	if len(c.Ratios) > maxPoints || c.Phases < 0 {
		return fmt.Errorf("contract.ratios: %d of them, and %d phases", len(c.Ratios), c.Phases)
	}
	for _, p := range c.Ratios {
		if err := firstError(checkNumber("contract.ratios", p[0], 0, 1),
			checkNumber("contract.ratios", p[1], 0, maxRatio)); err != nil {
			return err
		}
	}
	return firstError(checkNumber("contract.promise_s", c.Promise, 0, maxSeconds),
		checkNumber("contract.done", c.Done, 0, 1), checkNumber("contract.ratio", c.Ratio, 0, maxRatio),
		checkNumber("contract.average", c.Average, 0, maxRatio), checkNumber("contract.limit", c.Limit, 0, maxRatio),
		checkNumber("contract.left_s", c.Left, 0, maxSeconds), checkNumber("contract.bias", c.Bias, 0, maxRatio),
		checkNumber("contract.spread", c.Spread, 0, maxRatio))
}

func (c *Carried) checkRanges() error {
	if c.Bytes < 0 || c.Bytes > maxBytes {
		return fmt.Errorf("carried.bytes: %d is out of range", c.Bytes)
	}
	return checkDuration("carried.took", c.Took)
}

func (e *Entry) checkSize() error {
	if e == nil {
		return nil
	}
	e.Kind, e.Choice, e.Why = cutTo(e.Kind, maxNameBytes), cutText(e.Choice), cutText(e.Why)
	if text, err := json.Marshal(e.Inputs); err != nil || len(text) > maxInputs {
		return fmt.Errorf("entry.inputs: %d bytes, at most %d", len(text), maxInputs)
	}
	return nil
}

func checkNumber(field string, x, least, most float64) error {
	if !(x >= least && x <= most) { // so that NaN is none
		return fmt.Errorf("%s: %g is not between %g and %g", field, x, least, most)
	}
	return nil
}

func checkDuration(field string, d time.Duration) error {
	if d < 0 || d.Seconds() > maxSeconds {
		return fmt.Errorf("%s: %s is out of range", field, d)
	}
	return nil
}

// checkName complains about what cannot be the name of a method, a tree or a cause.
func checkName(field, name string) error {
	if len(name) > maxNameBytes || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '/' }) {
		return fmt.Errorf("%s: %q is not a name", field, cutTo(name, 80))
	}
	return nil
}

func cutText(text string) string { return cutTo(text, maxTextBytes) }

// cutTo shortens a text to at most n bytes, between two characters, and says so by dots.
func cutTo(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const dots = "…"
	end := n - len(dots)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + dots
}

func firstError(errs ...error) error {
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}
