package parallel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// ServeRanks is the program of every part but the first of a job whose parts are one program: it runs what launchers of
// part 0 ask for, on the hosts of this part, until the program of part 0 has ended. It returns the exit code of this
// process: 0 whatever became of the ranks, since that mpirun tells in part 0.
func ServeRanks(socket string) int {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return serverFails(err)
	}
	s := &rankServer{listener: l, ended: make(chan error, 1), conns: map[net.Conn]bool{}}
	go s.acceptLoop()
	err = <-s.ended
	s.closeAll()
	if err != nil {
		host, _, _ := strings.Cut(os.Getenv("GODWIT_PART_0_HOSTS"), " ")
		noteLostHost(host)
		return serverFails(fmt.Errorf("the connection to part 0: %w", err))
	}
	return 0
}

// rankServer runs what launchers of another part ask for.
type rankServer struct {
	listener net.Listener
	ended    chan error // the session has: nil, as it should
	tasks    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool
}

func (s *rankServer) acceptLoop() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return // it was closed
		}
		s.mu.Lock()
		if s.closed {
			_ = c.Close()
		} else {
			s.conns[c] = true
			s.tasks.Go(func() { s.serveConn(c) })
		}
		s.mu.Unlock()
	}
}

// closeAll ends all that launchers asked for, and returns when nothing of it is left.
func (s *rankServer) closeAll() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.tasks.Wait()
}

func (s *rankServer) serveConn(c net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		_ = c.Close()
	}()
	q, err := readRequest(c)
	switch {
	case err != nil: // somebody who only looked whether we are there
	case q.Session:
		err = awaitSession(c)
		select {
		case s.ended <- err:
		default: // another has ended before
		}
	default:
		runRequest(c, q)
	}
}

// awaitSession returns when the program of part 0 has ended; an error if it is not known to have.
func awaitSession(c io.Reader) error {
	end := make([]byte, len(sessionEnd))
	if _, err := io.ReadFull(c, end); err != nil {
		return err
	}
	if string(end) != sessionEnd {
		return errBadRequest
	}
	return nil
}

// runRequest runs a line on a host of this part until nothing of it is left, or the launcher is gone.
func runRequest(c net.Conn, q *rankRequest) {
	var lock sync.Mutex
	stderr := frameWriter{frameStderr, c, &lock}
	code, err := runLine(c, q, frameWriter{frameStdout, c, &lock}, stderr)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "godwit "+ServeCommand+":", err) // else the launcher is gone
		code = 1
	}
	_, _ = frameWriter{frameExit, c, &lock}.Write(binary.BigEndian.AppendUint32(nil, uint32(int32(code))))
	_ = c.SetReadDeadline(clock.RealClock()().Add(sessionEndTimeout))
	_, _ = io.Copy(io.Discard, c) // the launcher leaves when it has the code: see endSession
}

func runLine(c net.Conn, q *rankRequest, stdout, stderr io.Writer) (int, error) {
	cmd, isRunner, err := lineCommand(q)
	if err != nil {
		return 0, err
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if isRunner {
		_, _ = fmt.Fprintln(in, os.Getenv("GODWIT_ATTEMPT")) // if that cannot be written it has ended
	}
	go func() {
		_, _ = io.Copy(in, c) // the launcher's beat, until it is gone
		_ = in.Close()        // which a rank runner notices
		if !isRunner {
			_ = cmd.Process.Signal(unix.SIGTERM)
		}
	}()
	err = cmd.Wait()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exitCode(exit.ProcessState), nil
	}
	return 0, err
}

// lineCommand is how a line is run on a host of this part: by a rank runner here, or by a launcher on another host.
func lineCommand(q *rankRequest) (cmd *exec.Cmd, isRunner bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, false, err
	}
	hosts := partHosts()
	k := slices.Index(hosts, q.Host)
	if k < 0 {
		return nil, false, fmt.Errorf("%s is no host of this part, which has %v", q.Host, hosts)
	}
	how := "plain"
	if q.Yield || os.Getenv(yieldVariable) != "" {
		how = "yield"
	}
	if k == 0 { // the agent is on the first, and we are beside it
		return exec.Command(self, "limb", how, fmt.Sprintf("%x", q.Line)), true, nil
	}
	cmd = exec.Command(self, "launch", q.Host, q.Line)
	if how == "yield" {
		cmd.Env = append(os.Environ(), yieldVariable+"=1")
	}
	return cmd, false, nil
}

// partHosts are the hosts of this part, by the names that the other parts know.
func partHosts() []string {
	return strings.Fields(os.Getenv("GODWIT_PART_" + os.Getenv("GODWIT_PART") + "_HOSTS"))
}

func serverFails(err error) int {
	fmt.Fprintln(os.Stderr, "godwit "+ServeCommand+":", err)
	return 1
}
