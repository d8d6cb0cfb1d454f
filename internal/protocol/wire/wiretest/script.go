// Package wiretest makes conversations of bytes: a fuzzer chooses the bytes, a Script
// reads them as a sequence of choices, numbers, texts and messages of agents, some of
// them as agents send them, most of them not. It must not know who is spoken to.
package wiretest

import (
	"math"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Script is bytes that are read as choices. Once they are used up every choice is the
// first one.
type Script struct{ rest []byte }

// NewScript begins to read bytes.
func NewScript(data []byte) *Script { return &Script{data} }

// More reports whether bytes are left.
func (s *Script) More() bool { return len(s.rest) > 0 }

// Pick chooses one of n.
func (s *Script) Pick(n int) int {
	if len(s.rest) == 0 || n <= 0 {
		return 0
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	return int(c) % n
}

// Bytes takes at most n bytes as they are.
func (s *Script) Bytes(n int) []byte {
	n = min(n, len(s.rest))
	taken := s.rest[:n]
	s.rest = s.rest[n:]
	return taken
}

// integers are those at which things change.
var integers = []int64{0, 1, -1, 2, 255, 4096, 1 << 20, 1<<31 - 1, 1 << 31, 1 << 40, math.MaxInt64, math.MinInt64, -1 << 31}

// Int is a number, one of those at which things change or a small one.
func (s *Script) Int() int64 {
	i := s.Pick(2 * len(integers))
	if i < len(integers) {
		return integers[i]
	}
	return int64(s.Pick(256))
}

// Float is a number that JSON can write.
func (s *Script) Float() float64 {
	floats := []float64{0, 1, -1, 0.5, 1e-300, 1e18, 1.7e308, -1.7e308, math.MaxFloat64}
	return floats[s.Pick(len(floats))]
}

// Text is a text of the kind that is put into names and paths.
func (s *Script) Text() string {
	texts := []string{"", "a", "b", "sandbox", "restart", "n1", "../../etc/passwd", "/etc/passwd", "..", ".", "%s%n", "\x00", "\n", "ü", "-rf",
		strings.Repeat("x", 300), strings.Repeat("y", 70_000), "0123456789abcdef"}
	if i := s.Pick(len(texts) + 4); i < len(texts) {
		return texts[i]
	}
	return string(s.Bytes(s.Pick(32)))
}

// Texts is a short list of them.
func (s *Script) Texts() []string {
	var list []string
	for range s.Pick(4) {
		list = append(list, s.Text())
	}
	return list
}

// kinds are those of messages and of orders, and none.
var kinds = []wire.Kind{wire.Hello, wire.Running, wire.Status, wire.Output, wire.Ask, wire.Checkpoint, wire.NotSaved, wire.Left, wire.StaysOn,
	wire.Ended, wire.Lost, wire.Collecting, wire.Note, wire.Ack, wire.Kill, "", "dance"}

// Message is a message as an agent might send it, without a number. Most have only what
// their kind asks for; some have anything.
func (s *Script) Message() wire.Message {
	m := wire.Message{Kind: kinds[s.Pick(len(kinds))]}
	if s.Pick(4) == 0 {
		m.Method, m.Hosts, m.Why, m.Cause, m.Result, m.Outgoing = s.Text(), s.Texts(), s.Text(), s.Text(), s.Text(), s.Text()
		m.Code, m.Carried = int(s.Int()), wire.Carried{Bytes: s.Int(), Took: time.Duration(s.Int())}
	}
	switch m.Kind {
	case wire.Running:
		m.Method, m.Hosts = s.Text(), s.Texts()
	case wire.Output:
		m.Stream, m.Offset, m.Data = s.Pick(4), s.Int(), []byte(s.Text())
	case wire.Note:
		m.Entry = &wire.Entry{At: core.Time(s.Int()), Kind: s.Text(), Choice: s.Text(), Why: s.Text(), Inputs: map[string]any{s.Text(): s.Float()}}
	case wire.Ended:
		m.Code, m.Result = int(s.Int()), s.Text()
	}
	if s.Pick(3) == 0 {
		m.State = s.vitals()
	}
	if s.Pick(3) == 0 || m.Kind == wire.Checkpoint {
		m.Saved = s.saved()
	}
	return m
}

func (s *Script) vitals() *wire.Vitals {
	v := &wire.Vitals{CPU: s.Float(), Used: s.Float(), Wall: s.Float(), Share: s.Float(), Memory: s.Int(), Peak: s.Int(), Done: s.Float(), Chance: s.Float(),
		Waiting: s.Float(), Busy: s.Float(), Idle: s.Float(), Changes: int(s.Int()), SaveCost: s.Float(), SandboxCost: s.Float(), Slowness: s.Float()}
	for range s.Pick(12) {
		v.Left, v.Work = append(v.Left, s.Float()), append(v.Work, s.Float())
	}
	return v
}

func (s *Script) saved() *wire.Saved {
	return &wire.Saved{N: int(s.Int()), Epoch: core.Epoch(s.Int()), Method: s.Text(), At: core.Time(s.Int()), Image: s.Text(), Work: s.Text(),
		Out: s.Int(), Err: s.Int(), Used: s.Float(), IO: s.Int(), Bytes: s.Int(), Moved: s.Int(), Frozen: time.Duration(s.Int()),
		Took: time.Duration(s.Int()), Exported: s.Texts(), Sending: time.Duration(s.Int())}
}
