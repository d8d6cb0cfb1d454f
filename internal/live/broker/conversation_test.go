package broker_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/protocol/wire/wiretest"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// What must hold of a broker whoever speaks to it.
const (
	maxOperations = 40       // of one conversation
	maxHeapGrowth = 96 << 20 // by one conversation
)

// answerLimit is how long the loop may take to answer: a second where the machine has
// nothing else to do (GODWIT_FUZZ_STRICT).
func answerLimit() time.Duration {
	if os.Getenv("GODWIT_FUZZ_STRICT") != "" {
		return time.Second
	}
	return time.Minute
}

// conversation is a broker with a job of somebody honest, and somebody who is not.
type conversation struct {
	*grid
	*wiretest.Script
	honest  core.JobID
	agent   *attempt // of the honest job
	hostile core.JobID
	held    *attempt // of the hostile job: the last that was started
	conn    net.Conn
	seq     uint64
	heap    uint64
}

const honestOutput = "precious"

func converse(t *testing.T, d *depot.Store, data []byte) *conversation {
	c := &conversation{grid: newGridWith(t, d), Script: wiretest.NewScript(data)}
	c.honest = c.submit(jobfile.Job{On: []string{"b"}})
	c.agent = c.next()
	c.agent.run()
	c.agent.say(wire.Message{Kind: wire.Output, Stream: 1, Data: []byte(honestOutput)})
	c.agent.untilAcknowledged(t)
	c.heap = heapInUse()
	return c
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// holds looks at what must hold at the end.
func (c *conversation) holds() {
	c.t.Helper()
	c.hangUp()
	c.answers()
	if heap := heapInUse(); heap > c.heap+maxHeapGrowth {
		c.t.Errorf("the heap grew from %d to %d bytes", c.heap, heap)
	}
	c.agent.end(0)
	v := c.grid.until(c.honest, core.Done)
	if got := c.logs(c.honest); got != honestOutput || v.Code != 0 || v.Epoch != 1 || v.Cluster != "b" {
		c.t.Errorf("the other job ended with %d in attempt %d on %s and wrote %q", v.Code, v.Epoch, v.Cluster, got)
	}
}

// answers asks the loop something.
func (c *conversation) answers() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), answerLimit())
	defer cancel()
	if _, err := c.broker().ListJobs(ctx, true); err != nil {
		c.t.Fatalf("the broker does not answer: %v", err)
	}
}

// adopt takes the attempts that were started: those of the hostile job.
func (c *conversation) adopt() {
	for {
		select {
		case a := <-c.started:
			if a.Job == c.hostile {
				c.held, c.seq = a, 0
			}
		default:
			return
		}
	}
}

func (c *conversation) hangUp() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// dial connects as an agent and says a first word.
func (c *conversation) dial(hello *wire.Message) {
	c.hangUp()
	mine, theirs := net.Pipe()
	b := c.broker()
	c.serving.Go(func() { _ = b.ServeAgent(context.Background(), &wire.Conn{Conn: theirs, R: bufio.NewReader(theirs)}) })
	c.serving.Go(func() { _, _ = io.Copy(io.Discard, mine) })
	c.conn = mine
	c.send(hello)
}

// send says something, if anybody listens.
func (c *conversation) send(m *wire.Message) {
	c.t.Helper()
	if c.conn == nil {
		return
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(time.Minute))
	if err := wire.WriteFrame(c.conn, m); errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatal("the broker neither listens nor hangs up")
	}
}

// order asks the broker for something about the hostile job, and does not wait long.
func (c *conversation) order(what int) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Millisecond)
	defer cancel()
	ref := fmt.Sprint(c.hostile)
	switch what {
	case 0:
		_, _ = c.broker().CancelJob(ctx, ref)
	case 1:
		_, _ = c.broker().MigrateJob(ctx, ref, "a")
	case 2:
		_, _ = c.broker().CheckpointJob(ctx, ref)
	case 3:
		_, _, _ = c.broker().ExplainJob(ctx, ref)
	}
}

// speak does one thing that an agent of the hostile job may do.
func (c *conversation) speak(restarts *int) {
	c.adopt()
	switch c.PickOne(8) {
	case 0:
		if c.held != nil {
			c.dial(&wire.Message{Kind: wire.Hello, Job: c.held.Job, Epoch: c.held.Epoch, Mark: c.held.Mark})
		}
	case 1: // as somebody else, or as nobody
		m := c.NextMessage()
		m.Kind, m.Job, m.Epoch, m.Mark = wire.Hello, core.JobID(c.NextInt()), core.Epoch(c.NextInt()), c.NextText()
		if c.held != nil && c.PickOne(2) == 0 {
			m.Job, m.Mark = c.honest, c.held.Mark
		}
		c.dial(&m)
	case 2:
		if c.conn != nil {
			frame := binary.BigEndian.AppendUint32(nil, uint32(c.NextInt()))
			_ = c.conn.SetWriteDeadline(time.Now().Add(time.Minute))
			_, _ = c.conn.Write(append(frame, c.TakeBytes(64)...))
			c.hangUp()
		}
	case 3:
		c.order(c.PickOne(4))
	case 4:
		if *restarts++; *restarts <= 2 {
			c.hangUp()
			c.kill()
			c.up()
			c.agent.connect()
		}
	default:
		m := c.NextMessage()
		switch c.PickOne(4) {
		case 0:
			m.Seq = uint64(c.NextInt())
		case 1: // the same number again, or none
			m.Seq = c.seq
		default:
			c.seq++
			m.Seq = c.seq
		}
		c.send(&m)
	}
}

// Whatever an agent says, in whatever order, over however many connections: the broker
// answers, its memory stays bounded, and the jobs of others are not concerned.
func FuzzAgentConversation(f *testing.F) {
	f.Add([]byte{0, 5, 1, 1, 4, 0, 1, 1, 2})
	f.Add([]byte("\x00\x05\x01\x00\x00\x02\x02\x05\x03\x01\x01\x0b\x02\x02\x05\x09\x01\x00\x02\x02\x02"))
	f.Add([]byte("\x00\x06\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x07\x0c\x01\x03\x00\x07\x07\x0a\x01\x02\x00"))
	f.Add([]byte("\x01\x01\x00\x05\x03\x01\x02\x03\x01\x02\x03\x04\x00\x00\x05\x0a\x02\x03\x01\x00\x07\x03\x02\x0b\x10\x00"))
	d, err := depot.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = d.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		c := converse(t, d, data)
		c.hostile = c.submit(jobfile.Job{On: []string{"a"}, Retries: 3})
		c.held = c.next()
		restarts := 0
		for n := 0; n < maxOperations && c.HasMore(); n++ {
			c.speak(&restarts)
		}
		c.holds()
	})
}

// oddCluster is a cluster that answers as the script says. It starts nothing.
type oddCluster struct{ says chan *wiretest.Script }

// scripted reads the next choices. Several are asked at once.
func (o *oddCluster) scripted(read func(*wiretest.Script)) error {
	s := <-o.says
	defer func() { o.says <- s }()
	read(s)
	switch s.PickOne(6) {
	case 0:
		return errors.New(s.NextText())
	case 1:
		return fmt.Errorf("%w: %s", driver.ErrAway, s.NextText())
	case 2:
		return fmt.Errorf("%w: %s", driver.ErrRefused, s.NextText())
	}
	return nil
}

func (o *oddCluster) StartAttempt(context.Context, *wire.Attempt) error {
	return o.scripted(func(*wiretest.Script) {})
}

func (o *oddCluster) ReleaseAttempt(context.Context, driver.ID) error {
	return nil // else it is tried for ever
}

func (o *oddCluster) FindAttempts(context.Context) (list []driver.Found, err error) {
	err = o.scripted(func(s *wiretest.Script) {
		for range s.PickOne(5) {
			list = append(list, driver.Found{ID: driver.ID{Job: core.JobID(s.NextInt()), Epoch: core.Epoch(s.NextInt())},
				Alive: s.PickOne(2) == 0})
		}
	})
	return list, err
}

func (o *oddCluster) MeasureLoad(context.Context) (l driver.Load, err error) {
	err = o.scripted(func(s *wiretest.Script) {
		l = driver.Load{Share: s.NextFloat(), Sd: s.NextFloat(),
			Why: s.NextText()}
	})
	return l, err
}

func (o *oddCluster) EstimateWait(context.Context, driver.Need) (w driver.Wait, err error) {
	err = o.scripted(func(s *wiretest.Script) {
		w = driver.Wait{Known: s.PickOne(2) == 0, Seconds: s.NextFloat(), Why: s.NextText()}
	})
	return w, err
}

func (o *oddCluster) ExplainWait(context.Context, driver.ID) (why string, err error) {
	err = o.scripted(func(s *wiretest.Script) { why = s.NextText() })
	return why, err
}

func (o *oddCluster) describe(context.Context) (c broker.Cluster, err error) {
	err = o.scripted(func(s *wiretest.Script) {
		c = broker.Cluster{Name: "a", Kind: s.NextText(), Driver: o, Managed: true,
			HostNames: s.NextTexts(), CPUFeatures: s.NextTexts(), Notes: s.NextTexts()}
		for range s.PickOne(4) {
			c.Hosts = append(c.Hosts, world.HostSpec{Procs: int(min(s.NextInt(), 1<<20)), Speed: s.NextFloat(),
				Memory: s.NextInt()})
		}
	})
	c.Describe = o.describe
	return c, err
}

// Whatever a cluster answers to what its outpost is asked, jobs of other clusters are
// not concerned.
func FuzzClusterConversation(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"))
	f.Add([]byte("\x03\x06\x06\x00\x05\x02\x0a\x0b\x01\x00\x03\x0a\x06\x05\x07\x03\x03\x0b\x06\x00"))
	f.Add([]byte(strings.Repeat("\x07\x06\x05\x03", 20)))
	d, err := depot.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = d.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		c := converse(t, d, data)
		odd := &oddCluster{says: make(chan *wiretest.Script, 1)}
		odd.says <- wiretest.NewScript(data)
		c.kill()
		c.a.own, c.driverOfA = true, odd
		c.up()
		c.agent.connect()
		c.hostile = c.submit(jobfile.Job{On: []string{"a"}, Retries: 1})
		for n := 0; n < maxOperations && c.HasMore(); n++ {
			switch c.PickOne(4) {
			case 0:
				c.order(c.PickOne(4))
			case 1:
				_, _ = c.broker().ListClusters(t.Context())
			case 2:
				c.described(odd)
			case 3:
				_, _ = c.broker().QuoteJob(t.Context(), complete(jobfile.Job{}))
			}
		}
		c.holds()
	})
}

// described has the settings read again, with a cluster that says something else of itself.
func (c *conversation) described(odd *oddCluster) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), answerLimit())
	defer cancel()
	was := c.options().Clusters
	if now, err := odd.describe(ctx); err == nil {
		was[0] = now
	}
	if err := c.broker().ReconfigureClusters(ctx, was, core.PlacePolicy(0)); errors.Is(err, context.DeadlineExceeded) {
		c.t.Fatal("the broker does not take other settings")
	}
}
