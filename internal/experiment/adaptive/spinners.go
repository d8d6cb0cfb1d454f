package adaptive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/experiment/loads"
)

// spinners are programs that take parts of a processor as they are told, each in a
// session of its own as those of Load. They end with us, however we end: their
// input does.
type spinners struct {
	commands []*exec.Cmd
	inputs   []io.WriteCloser
	begun    bool
	used     float64 // CPU seconds, of those that were stopped
}

// startSpinners starts programs that wait until they may begin.
func (p *Plan) startSpinners(cpu int, every time.Duration, demands [][]float64) (*spinners, error) {
	argv := p.Live.Spinner
	if argv == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv = []string{self, "spinner"}
	}
	s := &spinners{}
	for _, d := range demands {
		if err := s.startOne(argv, loads.Order{CPU: cpu, Every: every, Demands: d}); err != nil {
			_, e := s.stopAll()
			return nil, errors.Join(err, e)
		}
	}
	return s, nil
}

func (s *spinners) startOne(argv []string, o loads.Order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return errors.Join(err, in.Close())
	}
	s.commands, s.inputs = append(s.commands, c), append(s.inputs, in)
	_, err = in.Write(append(line, '\n'))
	return err
}

// beginComputing lets them compute.
func (s *spinners) beginComputing() error {
	s.begun = true
	for _, in := range s.inputs {
		if _, err := in.Write([]byte("\n")); err != nil {
			return fmt.Errorf("a program that was to compete has ended: %w", err)
		}
	}
	return nil
}

// stopAll ends them and tells how many CPU seconds they used; stopped again, the same.
func (s *spinners) stopAll() (float64, error) {
	var err error
	for i, c := range s.commands {
		err = errors.Join(err, s.inputs[i].Close())
		_ = c.Process.Kill() // it may have ended already
		_ = c.Wait()         // it was killed
		s.used += (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	}
	s.commands, s.inputs = nil, nil
	return s.used, err
}

// processor is what the kernel counted of one, in seconds.
type processor struct{ busy, steal float64 }

// processorTimes reads what a processor did so far.
func processorTimes(cpu int) (processor, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processor{}, err
	}
	return parseStat(string(text), cpu)
}

// ticks in a second, wherever Linux tells times to programs.
const ticks = 100

func parseStat(text string, cpu int) (processor, error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 9 || f[0] != "cpu"+strconv.Itoa(cpu) {
			continue
		}
		var n [8]float64 // user nice system idle iowait irq softirq steal
		for i := range n {
			x, err := strconv.ParseUint(f[1+i], 10, 64)
			if err != nil {
				return processor{}, fmt.Errorf("/proc/stat, %s: %q is no number of ticks", f[0], f[1+i])
			}
			n[i] = float64(x) / ticks
		}
		return processor{busy: n[0] + n[1] + n[2] + n[5] + n[6], steal: n[7]}, nil
	}
	return processor{}, fmt.Errorf("/proc/stat has no processor %d", cpu)
}
