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

// HasMore reports whether bytes are left.
func (s *Script) HasMore() bool { return len(s.rest) > 0 }

// PickOne chooses one of n.
func (s *Script) PickOne(n int) int {
	if len(s.rest) == 0 || n <= 0 {
		return 0
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	return int(c) % n
}

// TakeBytes takes at most n bytes as they are.
func (s *Script) TakeBytes(n int) []byte {
	n = min(n, len(s.rest))
	taken := s.rest[:n]
	s.rest = s.rest[n:]
	return taken
}

// integers are those at which things change.
var integers = []int64{0, 1, -1, 2, 255, 4096, 1 << 20, 1<<31 - 1, 1 << 31, 1 << 40, math.MaxInt64, math.MinInt64,
	-1 << 31}

// NextInt is a number, one of those at which things change or a small one.
func (s *Script) NextInt() int64 {
	i := s.PickOne(2 * len(integers))
	if i < len(integers) {
		return integers[i]
	}
	return int64(s.PickOne(256))
}

// NextFloat is a number that JSON can write.
func (s *Script) NextFloat() float64 {
	floats := []float64{0, 1, -1, 0.5, 1e-300, 1e18, 1.7e308, -1.7e308, math.MaxFloat64}
	return floats[s.PickOne(len(floats))]
}

// NextText is a text of the kind that is put into names and paths.
func (s *Script) NextText() string {
	texts := []string{"", "a", "b", "sandbox", "restart", "n1", "../../etc/passwd", "/etc/passwd", "..", ".", "%s%n",
		"\x00", "\n", "ü", "-rf",
		strings.Repeat("x", 300), strings.Repeat("y", 70_000), "0123456789abcdef"}
	if i := s.PickOne(len(texts) + 4); i < len(texts) {
		return texts[i]
	}
	return string(s.TakeBytes(s.PickOne(32)))
}

// NextTexts is a short list of them.
func (s *Script) NextTexts() []string {
	var list []string
	for range s.PickOne(4) {
		list = append(list, s.NextText())
	}
	return list
}

// kinds are those of messages and of orders, and none.
var kinds = []wire.Kind{wire.Hello, wire.Running, wire.Status, wire.Output, wire.Ask, wire.Checkpoint, wire.NotSaved,
	wire.Left, wire.StaysOn,
	wire.Ended, wire.Lost, wire.Collecting, wire.Note, wire.Ack, wire.Kill, "", "dance"}

// NextMessage is a message as an agent might send it, without a number. Most have only what
// their kind asks for; some have anything.
func (s *Script) NextMessage() wire.Message {
	m := wire.Message{Kind: kinds[s.PickOne(len(kinds))]}
	if s.PickOne(4) == 0 {
		m.Method, m.Hosts, m.Why, m.Cause, m.Result, m.Outgoing = s.NextText(), s.NextTexts(), s.NextText(), s.NextText(),
			s.NextText(), s.NextText()
		m.Code, m.Carried = int(s.NextInt()), wire.Carried{Bytes: s.NextInt(), Took: time.Duration(s.NextInt())}
	}
	switch m.Kind {
	case wire.Running:
		m.Method, m.Hosts = s.NextText(), s.NextTexts()
	case wire.Output:
		m.Stream, m.Offset, m.Data = s.PickOne(4), s.NextInt(), []byte(s.NextText())
	case wire.Note:
		m.Entry = &wire.Entry{At: core.Time(s.NextInt()), Kind: s.NextText(), Choice: s.NextText(), Why: s.NextText(),
			Inputs: map[string]any{s.NextText(): s.NextFloat()}}
	case wire.Ended:
		m.Code, m.Result = int(s.NextInt()), s.NextText()
	}
	if s.PickOne(3) == 0 {
		m.State = s.nextVitals()
	}
	if s.PickOne(3) == 0 || m.Kind == wire.Checkpoint {
		m.Saved = s.nextSaved()
	}
	return m
}

func (s *Script) nextVitals() *wire.Vitals {
	v := &wire.Vitals{CPU: s.NextFloat(), Used: s.NextFloat(), Wall: s.NextFloat(), Share: s.NextFloat(),
		Memory: s.NextInt(), Peak: s.NextInt(), Done: s.NextFloat(), Chance: s.NextFloat(),
		Waiting: s.NextFloat(), Busy: s.NextFloat(), Idle: s.NextFloat(), Changes: int(s.NextInt()), SaveCost: s.NextFloat(),
		SandboxCost: s.NextFloat(), Slowness: s.NextFloat()}
	for range s.PickOne(12) {
		v.Left, v.Work = append(v.Left, s.NextFloat()), append(v.Work, s.NextFloat())
	}
	return v
}

func (s *Script) nextSaved() *wire.Saved {
	return &wire.Saved{N: int(s.NextInt()), Epoch: core.Epoch(s.NextInt()), Method: s.NextText(),
		At: core.Time(s.NextInt()), Image: s.NextText(), Work: s.NextText(),
		Out: s.NextInt(), Err: s.NextInt(), Used: s.NextFloat(), IO: s.NextInt(), Bytes: s.NextInt(), Moved: s.NextInt(),
		Frozen: time.Duration(s.NextInt()),
		Took:   time.Duration(s.NextInt()), Exported: s.NextTexts(), Sending: time.Duration(s.NextInt())}
}
