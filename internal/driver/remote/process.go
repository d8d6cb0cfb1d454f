package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
)

// process is ssh, with what it says.
type process struct {
	cmd    *exec.Cmd
	in     *os.File // its standard input, our end
	out    *os.File // its standard output, our end
	said   *tail
	ended  chan struct{} // closed when it is gone
	result error         // valid then
}

// beginSSH starts ssh with this command line for the other end.
func (d *Driver) beginSSH(ctx context.Context, line string, sharing bool) (*process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &process{cmd: d.sshCommand(ctx, line, sharing), said: new(tail), ended: make(chan struct{})}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), theirIn.Close())
	}
	p.in, p.out = in, out
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirIn, theirOut, p.said
	// Who keeps our end of standard error open after ssh is dead is not waited for.
	p.cmd.WaitDelay = time.Second
	err = p.cmd.Start()
	_ = errors.Join(theirIn.Close(), theirOut.Close()) // they are ssh's
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	d.tasks.Go(func() {
		p.result = p.cmd.Wait()
		close(p.ended)
	})
	return p, nil
}

func (p *process) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close closes our ends, upon which ssh and the other end go.
func (p *process) Close() error { return errors.Join(p.in.Close(), p.out.Close()) }

// exitTimeout is how long ssh may take to go when its input has ended.
const exitTimeout = 2 * time.Second

// endProcess sees to it that ssh is gone, and says how it ended.
func (p *process) endProcess() error {
	_ = p.Close() // it may be closed
	select {
	case <-p.ended:
	case <-time.After(exitTimeout):
		p.killProcess()
		<-p.ended
	}
	return p.result
}

// killProcess ends ssh and what it started.
func (p *process) killProcess() {
	select {
	case <-p.ended:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may just have gone
	}
}

// awaitLine waits for a line that begins with one of the words; ssh is killed if
// that takes too long.
func (p *process) awaitLine(ctx context.Context, words ...string) (string, error) {
	stop := context.AfterFunc(ctx, p.killProcess)
	defer stop()
	line, err := talk.AwaitLine(p, words...)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return line, err
}

// tail keeps the end of what is written to it, and tells the lines to who wants
// to know.
type tail struct {
	mu   sync.Mutex
	say  func(string)
	text bytes.Buffer
	line []byte
}

// maxTail is how much is kept.
const maxTail = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(b)
	if over := t.text.Len() - maxTail; over > 0 {
		t.text.Next(over)
	}
	if t.say == nil {
		return len(b), nil
	}
	t.line = append(t.line, b...)
	for {
		line, rest, ok := bytes.Cut(t.line, []byte{'\n'})
		if !ok {
			break
		}
		t.say(strings.TrimSpace(string(line)))
		t.line = append(t.line[:0], rest...)
	}
	if len(t.line) > maxTail {
		t.line = t.line[:0]
	}
	return len(b), nil
}

// setReporter has lines told from now on.
func (t *tail) setReporter(say func(string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say = say
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

var _ io.ReadWriteCloser = (*process)(nil)
