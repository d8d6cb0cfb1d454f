package parallel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// LeadParts runs the command of a job whose parts are one program, in part 0. As long as it runs the other parts are
// there for it; then they are told that it is over. It returns the exit code of this process.
func LeadParts(argv []string) int {
	// The command gets the same signals, and decides what follows. Caught and not ignored, so that it finds them as
	// usual.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	peers, err := readPeers()
	if err != nil {
		return leadFails(err)
	}
	var sessions []net.Conn
	defer func() {
		for _, c := range sessions {
			_ = c.Close()
		}
	}()
	for i := range peers {
		c, err := openSession(&peers[i])
		if err != nil {
			noteLostHost(peers[i].Hosts[0].Own)
			return leadFails(err)
		}
		sessions = append(sessions, c)
	}
	code := runCommand(argv)
	for _, c := range sessions {
		endSession(c)
	}
	return code
}

// endSession tells a rank server that the program has ended, and waits until it has heard of it: who closes a
// connection with something unread in it may take back what was said last. If it is gone the agent of its part
// tells so.
func endSession(c net.Conn) {
	_ = c.SetDeadline(clock.RealClock()().Add(sessionEndTimeout))
	_, _ = c.Write([]byte(sessionEnd))
	_, _ = io.Copy(io.Discard, c)
}

// sessionEndTimeout is how long a rank server may take to hear that the program has ended, or a launcher that its line
// has.
const sessionEndTimeout = 15 * time.Second

// openSession tells the rank server of another part that the program begins.
func openSession(p *peer) (net.Conn, error) {
	c, err := p.Meet.DialOwner(context.Background())
	if err == nil {
		err = (&rankRequest{Session: true}).writeTo(c)
	}
	if err != nil {
		return nil, fmt.Errorf("reaching part %d in %s: %w", p.Part, p.Cluster, err)
	}
	return c, nil
}

// Exit codes of shells for what cannot be run.
const (
	exitNotFound   = 127
	exitNotRunable = 126
)

// runCommand runs a command with what this process has, and returns its exit code as a shell would.
func runCommand(argv []string) int {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	switch exit := new(exec.ExitError); {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exitCode(exit.ProcessState)
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		fmt.Fprintln(os.Stderr, "godwit:", err)
		return exitNotFound
	}
	fmt.Fprintln(os.Stderr, "godwit:", err)
	return exitNotRunable
}

// exitCode is that of a process as shells count it.
func exitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(unix.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

func leadFails(err error) int {
	fmt.Fprintln(os.Stderr, "godwit "+LeadCommand+":", err)
	return 1
}

// launchAtPart has a line run on a host of another part, by its rank server. As on the hosts of our own, what comes of
// it ends with this process, or whoever started it, or the connection.
func launchAtPart(p *peer, host, line string) int {
	c, err := p.Meet.DialOwner(context.Background())
	if err == nil {
		err = (&rankRequest{Host: host, Line: line, Yield: os.Getenv(yieldVariable) != ""}).writeTo(c)
	}
	if err != nil {
		noteLostHost(host)
		return launchFails(fmt.Errorf("reaching %s in %s: %w", host, p.Cluster, err))
	}
	parent := os.Getppid()
	go keepAlive(c, parent, func() { _ = c.Close() }) // which the rank server notices
	code, err := readFrames(c, os.Stdout, os.Stderr)
	if err == nil {
		return code
	}
	// Else the end is ours, or the program is over and the rank server heard of it before us.
	if !errors.Is(err, net.ErrClosed) && os.Getppid() == parent {
		noteLostHost(host)
	}
	return launchFails(fmt.Errorf("the connection to %s in %s: %w", host, p.Cluster, err))
}
