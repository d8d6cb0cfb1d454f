package output

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// A spool and its outbox against a broker that is told things, now and then not:
// it ends up with every byte, whatever happens between, also when another agent
// takes over.
func TestTheBrokerGetsEveryByteWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := &spoolModel{dir: filepath.Join(dir, "out")}
		m.begin(t)
		defer func() { m.spool.CloseFiles() }()
		t.Repeat(map[string]func(*rapid.T){
			"write":     m.write,
			"send":      m.send,
			"break":     func(*rapid.T) { m.onTheWay = nil; m.outbox.ResendAll() },
			"arrive":    m.arrive,
			"take over": m.takeOver,
			"say":       func(*rapid.T) { m.outbox.QueueMessage(wire.Message{Kind: wire.Note}) },
		})
		m.outbox.SayLast(wire.Message{Kind: wire.Ended})
		m.outbox.ResendAll()
		m.onTheWay = nil
		for !m.outbox.IsEmpty() {
			m.send(t)
			for len(m.onTheWay) > 0 {
				m.take(t)
			}
			m.outbox.AcknowledgeUpTo(m.seen)
			m.outbox.QueueOutput()
		}
		for i := range m.wrote {
			if !bytes.Equal(m.wrote[i], m.got[i]) {
				t.Fatalf("stream %d: wrote %d bytes, arrived %d", i+1, len(m.wrote[i]), len(m.got[i]))
			}
		}
		if m.kinds[len(m.kinds)-1] != wire.Ended {
			t.Fatalf("the end came before %v", m.kinds)
		}
	})
}

type spoolModel struct {
	dir        string
	spool      *Spool
	outbox     *Outbox
	agents     int
	wrote, got [2][]byte
	onTheWay   []wire.Message
	seen       uint64
	kinds      []wire.Kind
}

func (m *spoolModel) begin(*rapid.T) {
	m.spool = NewSpool(m.dir, 100, 1000)
	m.outbox = NewOutbox(m.spool, 0)
}

func (m *spoolModel) write(t *rapid.T) {
	if m.agents > 0 {
		return // the program died with its agent
	}
	i := rapid.IntRange(0, 1).Draw(t, "stream")
	data := rapid.SliceOfN(rapid.Byte(), 1, 60).Draw(t, "data")
	m.spool.addOutput(i+1, data)
	m.wrote[i] = append(m.wrote[i], data...)
	m.outbox.QueueOutput()
}

func (m *spoolModel) send(t *rapid.T) {
	frames, err := m.outbox.NextBatch()
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(frames)
	for r.Len() > 0 {
		var msg wire.Message
		if err := wire.ReadFrame(r, &msg); err != nil {
			t.Fatal(err)
		}
		m.onTheWay = append(m.onTheWay, msg)
	}
	if m.outbox.Damaged {
		t.Fatal("output is gone")
	}
}

func (m *spoolModel) arrive(t *rapid.T) {
	if len(m.onTheWay) == 0 {
		return
	}
	m.take(t)
	if rapid.IntRange(0, 3).Draw(t, "acknowledged") > 0 {
		m.outbox.AcknowledgeUpTo(m.seen)
		m.outbox.QueueOutput()
	}
}

// take is one message more for the broker.
func (m *spoolModel) take(t *rapid.T) {
	msg := m.onTheWay[0]
	m.onTheWay = m.onTheWay[1:]
	if msg.Seq > m.seen {
		m.seen = msg.Seq
		m.kinds = append(m.kinds, msg.Kind)
		if msg.Kind == wire.Output {
			i := msg.Stream - 1
			if msg.Offset > int64(len(m.got[i])) {
				t.Fatalf("a gap before %d, of which %d are there", msg.Offset, len(m.got[i]))
			}
			m.got[i] = append(m.got[i][:msg.Offset], msg.Data...)
		}
	}
}

func (m *spoolModel) takeOver(t *rapid.T) {
	m.agents++
	m.spool.CloseFiles()
	m.onTheWay = nil
	m.spool = NewSpool(m.dir, 100, 1000)
	if err := m.spool.RecoverFiles(); err != nil {
		t.Fatal(err)
	}
	m.outbox = NewOutbox(m.spool, m.agents)
	out, _ := m.spool.KeptSpan(1)
	stderr, _ := m.spool.KeptSpan(2)
	m.outbox.BeginStreams(out, stderr, false)
	m.outbox.QueueOutput()
	for i := range m.wrote {
		if _, end := m.spool.KeptSpan(i + 1); end != int64(len(m.wrote[i])) && end != 0 {
			t.Fatalf("stream %d is found to be %d long, not %d", i+1, end, len(m.wrote[i]))
		}
	}
}

func TestWhatDoesNotFitOnTheDiskIsKeptUntilItDoes(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		testWithoutMount(t, dir)
		return
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	s := NewSpool(filepath.Join(dir, "out"), 8<<10, 1<<20)
	defer s.CloseFiles()
	var all []byte
	for i := range 30 {
		data := bytes.Repeat([]byte{byte('a' + i)}, 4<<10)
		all = append(all, data...)
		s.addOutput(1, data)
	}
	if _, full := s.isFull(); !full || s.FlushMemory() {
		t.Fatal("a full disk is not noticed")
	}
	read := 0
	for !s.FlushMemory() {
		if read += 16 << 10; read > len(all) {
			t.Fatal("not written although there is room")
		}
		wantSpool(t, s, all, read)
		s.dropBefore(1, int64(read))
	}
	wantSpool(t, s, all, read)
}

// testWithoutMount is the same for who may not mount: no folder to write to.
func testWithoutMount(t *testing.T, dir string) {
	t.Helper()
	s := NewSpool(filepath.Join(dir, "file", "out"), 8<<10, 1<<20)
	defer s.CloseFiles()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.addOutput(1, []byte("one"))
	s.addOutput(1, []byte("two"))
	if _, full := s.isFull(); !full || s.FlushMemory() {
		t.Fatal("a disk that takes nothing is not noticed")
	}
	if err := os.Remove(filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	if !s.FlushMemory() {
		t.Error("not written although there is room")
	}
	wantSpool(t, s, []byte("onetwo"), 0)
}

func wantSpool(t *testing.T, s *Spool, all []byte, from int) {
	t.Helper()
	buf := make([]byte, len(all)-from)
	if n, err := s.readStream(1, int64(from), buf); err != nil || n != len(buf) || !bytes.Equal(buf, all[from:]) {
		t.Errorf("read %d bytes, %v, of %d", n, err, len(buf))
	}
}

func FuzzParseSegment(f *testing.F) {
	f.Add("1.0000000000000010")
	f.Add("2.ffffffffffffffff")
	f.Add(".")
	f.Fuzz(func(t *testing.T, name string) {
		number, offset, ok := parseSegment(name)
		if ok && (number < 1 || number > 2 || offset < 0 || segmentName(number, offset) != name && !hasUpper(name)) {
			t.Errorf("%q is taken for stream %d at %d", name, number, offset)
		}
	})
}

func hasUpper(s string) bool { return s != string(bytes.ToLower([]byte(s))) || s[2] == '+' }

func TestPipesAreDrainedToTheByte(t *testing.T) {
	s := NewSpool(filepath.Join(t.TempDir(), "out"), 1<<20, 1<<20)
	defer s.CloseFiles()
	p, err := OpenPipes(s)
	if err != nil {
		t.Fatal(err)
	}
	var want [2]int64
	for i := range 200 {
		for j := range p.Writers {
			n, err := fmt.Fprintf(p.Writers[j], "%0*d\n", 1+i*i%3000, i)
			if err != nil {
				t.Fatal(err)
			}
			want[j] += int64(n)
		}
		if i%20 == 0 {
			p.PauseReading()
		}
		if err := p.DrainPipes(); err != nil {
			t.Fatal(err)
		}
		if out, err := s.StreamEnds(); out != want[0] || err != want[1] {
			t.Fatalf("after drain %d and %d bytes are there, want %v", out, err, want)
		}
		p.ResumeReading()
	}
	p.PauseReading()
	fmt.Fprint(p.Writers[0], "not to be read")
	p.ClosePipes()
	if out, _ := s.StreamEnds(); out != want[0] {
		t.Error("what came after the pause was read")
	}
}
