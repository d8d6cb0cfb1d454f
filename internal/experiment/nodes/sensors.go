package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/observe/weather/sensor"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
)

// ServeSensor answers questions to a sensor on this machine, one a line, until there are
// no more.
func ServeSensor(ctx context.Context, questions io.Reader, answers io.Writer) error {
	s := sensor.New(nil, clock.RealClock())
	defer func() { _ = s.Close() }()
	in, out := json.NewDecoder(questions), json.NewEncoder(answers)
	for {
		var q driver.Sensing
		if err := in.Decode(&q); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var r reply
		sensed, err := s.MeasureHosts(ctx, q)
		if r.Sensed = sensed; err != nil {
			r.Err = err.Error()
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// reply is the answer of a sensor.
type reply struct {
	driver.Sensed
	Err string `json:"err,omitempty"`
}

// sensors are those of the hosts, each a process there.
type sensors struct {
	hosts []*lab.Host
	each  []*remoteSensor
}

// remoteSensor is a sensor on another host.
type remoteSensor struct {
	cmd *exec.Cmd
	to  io.WriteCloser
	out *json.Encoder
	in  *json.Decoder
}

// newSensors starts them. exe is this program, argv what makes it a sensor.
func newSensors(ctx context.Context, hosts []*lab.Host, argv []string) (*sensors, error) {
	s := &sensors{hosts: hosts}
	for _, h := range hosts {
		cmd := h.Command(ctx, argv...)
		to, err1 := cmd.StdinPipe()
		from, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			s.closeAll()
			return nil, fmt.Errorf("a sensor on %s: %w", h.Name, err)
		}
		s.each = append(s.each, &remoteSensor{cmd: cmd, to: to, out: json.NewEncoder(to), in: json.NewDecoder(from)})
	}
	return s, nil
}

func (s *sensors) closeAll() {
	for _, f := range s.each {
		_ = f.to.Close()
		_ = f.cmd.Wait() // what it measured is known
	}
}

func (f *remoteSensor) askSensor(q driver.Sensing) (driver.Sensed, error) {
	if err := f.out.Encode(q); err != nil {
		return driver.Sensed{}, err
	}
	var r reply
	if err := f.in.Decode(&r); err != nil {
		return driver.Sensed{}, err
	}
	if r.Err != "" {
		return driver.Sensed{}, errors.New(r.Err)
	}
	return r.Sensed, nil
}

// probeBytes is what one probe may send each way: a third of a second on the
// slowest way.
const probeBytes = 400 << 10

// probeAll probes the ways between all pairs, as many at a time as there are pairs of
// hosts that have nothing else to do: no host takes part in two.
func (s *sensors) probeAll(ctx context.Context) (*nodesel.Bandwidths, error) {
	b := nodesel.NewBandwidths(len(s.hosts))
	type found struct {
		u, v int
		mbps float64
		err  error
	}
	for _, pairs := range pairRounds(len(s.hosts)) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		answers := make(chan found)
		for _, p := range pairs {
			go func() {
				mbps, err := s.probePair(p[0], p[1])
				answers <- found{p[0], p[1], mbps, err}
			}()
		}
		var err error
		for range pairs {
			f := <-answers
			if f.err != nil {
				err = fmt.Errorf("probing the way from %s to %s: %w", s.hosts[f.u].Name, s.hosts[f.v].Name, f.err)
				continue
			}
			b.RaisePair(f.u, f.v, f.mbps)
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// probePair is what a pair has, the slower direction.
func (s *sensors) probePair(u, v int) (float64, error) {
	l, err := s.each[v].askSensor(driver.Sensing{Listen: &driver.Listening{Name: s.hosts[v].Name}})
	if err != nil {
		return 0, err
	}
	w, err := s.each[u].askSensor(driver.Sensing{Probe: &driver.Probe{To: *l.Listens, Bytes: probeBytes}})
	if err != nil {
		return 0, err
	}
	return min(w.Way.There.Mbps, w.Way.Back.Mbps), nil
}

// pairRounds deals all pairs of n out so that nobody is in two of a round: one stays,
// the others go round a table.
func pairRounds(n int) [][][2]int {
	seats := n + n%2 // a free seat for an odd number
	var list [][][2]int
	for r := range seats - 1 {
		var round [][2]int
		for i := range seats / 2 {
			a, b := (r+i)%(seats-1), (r+seats-1-i)%(seats-1)
			if i == 0 {
				b = seats - 1
			}
			if a < n && b < n {
				round = append(round, [2]int{a, b})
			}
		}
		list = append(list, round)
	}
	return list
}
