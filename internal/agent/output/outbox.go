package output

import (
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// How much goes to the broker at once.
const (
	batchBytes   = 1 << 20 // in one write
	outputWindow = 8       // messages of output that wait for their acknowledgement
)

// Outbox is what the broker has not acknowledged yet, in the order of its
// numbers. Output is kept here only by its place in the spool. Only the
// goroutine that owns the attempt uses it.
type Outbox struct {
	spool *Spool
	Last  uint64 // number given to the newest message
	most  uint64 // largest number that may have arrived
	list  []letter
	sent  int // so many of list have been given to the connection there is now

	queued [2]int64 // how much of each stream is in the list, or was
	output int      // letters with output in the list
	Held   bool     // no output is to be queued at present

	Damaged bool // the disk has lost some of the output
}

// letter is a message, or a piece of output.
type letter struct {
	seq          uint64
	message      *wire.Message // nil: output
	stream, size int
	offset       int64
}

// NewOutbox numbers messages so that they come after those of earlier agents
// on the same folder: each agent has 2³² numbers of its own.
func NewOutbox(s *Spool, earlierAgents int) *Outbox {
	return &Outbox{spool: s, Last: uint64(earlierAgents) << 32}
}

// QueueMessage queues a message.
func (o *Outbox) QueueMessage(m wire.Message) {
	o.Last++
	m.Seq = o.Last
	o.list = append(o.list, letter{seq: m.Seq, message: &m})
}

// SayLast queues a message behind all output written so far.
func (o *Outbox) SayLast(m wire.Message) {
	o.Held = false
	o.queueStreams(o.spool.StreamEnds, false)
	o.QueueMessage(m)
}

// SayBehind queues a message behind the output up to these lengths: once the
// broker has the message it has that output too.
func (o *Outbox) SayBehind(m wire.Message, out, err int64) {
	o.queueStreams(func() (int64, int64) { return out, err }, false)
	o.QueueMessage(m)
}

// BeginStreams sets where the streams begin, or begin again. With truncate the broker
// is told to forget what it has behind that.
func (o *Outbox) BeginStreams(out, err int64, truncate bool) {
	o.queued = [2]int64{out, err}
	if truncate {
		o.QueueMessage(wire.Message{Kind: wire.Output, Stream: 1, Offset: out})
		o.QueueMessage(wire.Message{Kind: wire.Output, Stream: 2, Offset: err})
	}
}

// WithdrawOutput takes back all output that is not acknowledged. Some of it may have
// arrived: a begin with truncate has to follow.
func (o *Outbox) WithdrawOutput() {
	kept, sent := o.list[:0], o.sent
	for i, l := range o.list {
		if l.message != nil {
			kept = append(kept, l)
		} else if i < o.sent {
			sent--
		}
	}
	o.list, o.sent, o.output = kept, sent, 0
}

// QueueOutput queues output that is new, but not too much at a time: what waits
// goes in larger pieces.
func (o *Outbox) QueueOutput() {
	if !o.Held {
		o.queueStreams(o.spool.StreamEnds, true)
	}
}

func (o *Outbox) queueStreams(ends func() (out, err int64), window bool) {
	out, err := ends()
	for i, end := range [2]int64{out, err} {
		if _, kept := o.spool.KeptSpan(i + 1); end > kept {
			end = kept
		}
		for o.queued[i] < end && (!window || o.output < outputWindow) {
			n := min(end-o.queued[i], wire.MaxData)
			o.Last++
			o.list = append(o.list, letter{seq: o.Last, stream: i + 1, offset: o.queued[i], size: int(n)})
			o.queued[i] += n
			o.output++
		}
	}
}

// NextBatch gives the frames to be written next, nil if there are none. They count
// as sent.
func (o *Outbox) NextBatch() ([]byte, error) {
	var frames []byte
	for o.sent < len(o.list) && len(frames) < batchBytes {
		l := &o.list[o.sent]
		m := l.message
		if m == nil {
			m = o.readPiece(l)
		}
		var err error
		if frames, err = wire.AppendFrame(frames, m); err != nil {
			return nil, err
		}
		o.most = max(o.most, l.seq)
		o.sent++
	}
	return frames, nil
}

// readPiece reads a piece of output.
func (o *Outbox) readPiece(l *letter) *wire.Message {
	data := make([]byte, l.size)
	n, err := o.spool.readStream(l.stream, l.offset, data)
	if err != nil || n < l.size {
		// Zeros keep what follows in its place.
		clear(data[n:])
		o.Damaged = true
	}
	return &wire.Message{Seq: l.seq, Kind: wire.Output, Stream: l.stream, Offset: l.offset, Data: data}
}

// RenumberFrom numbers everything that is not acknowledged anew, from behind seq.
func (o *Outbox) RenumberFrom(seq uint64) {
	o.Last, o.most, o.sent = seq, seq, 0
	for i := range o.list {
		o.Last++
		o.list[i].seq = o.Last
		if m := o.list[i].message; m != nil {
			m.Seq = o.Last
		}
	}
}

// ResendAll makes everything that is not acknowledged go out again.
func (o *Outbox) ResendAll() { o.sent = 0 }

// AcknowledgeUpTo drops all messages up to seq, as far as they have been sent.
func (o *Outbox) AcknowledgeUpTo(seq uint64) {
	seq = min(seq, o.most)
	n := 0
	for n < len(o.list) && o.list[n].seq <= seq {
		if l := o.list[n]; l.message == nil {
			o.spool.dropBefore(l.stream, l.offset+int64(l.size))
			o.output--
		}
		n++
	}
	o.list = append(o.list[:0], o.list[n:]...)
	o.sent = max(0, o.sent-n)
}

// IsEmpty says whether the broker has everything.
func (o *Outbox) IsEmpty() bool { return len(o.list) == 0 }

// IsWaiting says whether a message of that kind has not been acknowledged.
func (o *Outbox) IsWaiting(kind wire.Kind) bool {
	for _, l := range o.list {
		if l.message != nil && l.message.Kind == kind {
			return true
		}
	}
	return false
}
