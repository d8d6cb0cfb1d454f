package parallel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// LaunchRemote runs a command on another host for a program of this attempt, as mpirun
// wants it of its launch agent: launch HOST WORDS…, the words being a line for a
// shell. It goes there with the user's ssh. If this process, whoever started it, or
// the connection ends, so does all that the command became over there. It returns
// the exit code of this process.
func LaunchRemote(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "godwit launch: HOST COMMAND…")
		return 2
	}
	line, err := rankRunnerLine(os.Getenv(yieldVariable) != "", strings.Join(args[1:], " "))
	if err != nil {
		return launchFails(err)
	}
	cmd := exec.Command("ssh", "-o", "BatchMode=yes", "-o", "ControlPath=none", "-o", "ServerAliveInterval=5", "-o",
		"ServerAliveCountMax=3",
		"-o", "ConnectTimeout=15", "-o", "ClearAllForwardings=yes", "-o", "LogLevel=ERROR", "-T", "--", args[0], line)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return launchFails(err)
	}
	if err := cmd.Start(); err != nil {
		return launchFails(err)
	}
	// The mark is as good as a password: command lines are everybody's to read, here
	// and there. If it cannot be written ssh has ended, which is told below.
	_, _ = fmt.Fprintln(in, os.Getenv("GODWIT_ATTEMPT"))
	var ours atomic.Bool // the end is
	end := sync.OnceFunc(func() {
		ours.Store(true)
		_ = in.Close() // which the limb notices
		time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Kill() })
	})
	go keepAlive(in, os.Getppid(), end)
	err = cmd.Wait()
	if c := cmd.ProcessState.ExitCode(); !ours.Load() && (c == sshFailed || c < 0) {
		noteLostHost(args[0])
	}
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		if code := exit.ExitCode(); code >= 0 {
			return code
		}
	}
	if err != nil {
		return launchFails(err)
	}
	return 0
}

// sshFailed is ssh's own exit code, rather than that of what it ran.
const sshFailed = 255

// lostVariable names the file in which a launcher notes that it lost a host: what
// its mpirun says of that looks like a fault of the program.
const lostVariable = "GODWIT_LOST_HOST"

func noteLostHost(host string) {
	if file := os.Getenv(lostVariable); file != "" {
		_ = os.WriteFile(file, []byte(host), 0o600) // else the program is blamed
	}
}

// keepAlive tells the limb that we are there until that is no longer so: we are to
// end, or whoever started us is gone.
func keepAlive(in io.Writer, parent int, end func()) {
	leave := make(chan os.Signal, 1)
	signal.Notify(leave, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	look, tell := time.NewTicker(200*time.Millisecond), time.NewTicker(beat)
	for {
		select {
		case <-leave:
			end()
			return
		case <-look.C:
			if os.Getppid() != parent {
				end()
				return
			}
		case <-tell.C:
			if _, err := in.Write([]byte{'.'}); err != nil {
				end()
				return
			}
		}
	}
}

// rankRunnerLine is the command for the shell over there. Our program is there too, at
// the same place. What is to be run is written in digits: it comes through two
// shells.
func rankRunnerLine(yield bool, command string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if !regexp.MustCompile(`^[A-Za-z0-9/._+@=-]+$`).MatchString(self) {
		return "", fmt.Errorf("%s: such a name does not come through a shell", self)
	}
	how := "plain"
	if yield {
		how = "yield"
	}
	return fmt.Sprintf("exec %s limb %s %x", self, how, command), nil
}

func launchFails(err error) int {
	fmt.Fprintln(os.Stderr, "godwit launch:", err)
	return 1
}
