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
	command := strings.Join(args[1:], " ")
	peers, err := readPeers()
	if err != nil {
		return launchFails(err)
	}
	if p, host := findPeer(peers, args[0]); p != nil {
		return launchAtPart(p, host, command)
	}
	if command, err = startHere(command); err != nil {
		return launchFails(err)
	}
	line, err := rankRunnerLine(os.Getenv(yieldVariable) != "", command)
	if err != nil {
		return launchFails(err)
	}
	words := remoteCommand(args[0], line, os.Getenv)
	cmd := exec.Command(words[0], words[1:]...)
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
	parent := os.Getppid()
	go keepAlive(in, parent, end)
	err = cmd.Wait()
	if c := cmd.ProcessState.ExitCode(); !ours.Load() && os.Getppid() == parent && (c == sshFailed || c < 0) {
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

// startHere has a command that is run on another host begin in the folder that this process is in, if the parts of the
// job are one program: of that mpirun says nothing then, see JointVariables.
func startHere(command string) (string, error) {
	if os.Getenv("GODWIT_PARTS") == "" {
		return command, nil
	}
	dir, err := unix.Getwd() // by its own name: PWD may be one that leads elsewhere on the other host
	if err != nil {
		return "", err
	}
	return "cd '" + strings.ReplaceAll(dir, "'", `'\''`) + "' && " + command, nil
}

// remoteCommand is how a line for a shell gets to another host of the same part: by ssh, or if the parts of the job are
// one program as the manager of the cluster has it, whom mpirun does not ask then.
func remoteCommand(host, line string, getenv func(string) string) []string {
	joint := getenv("GODWIT_PARTS") != ""
	switch {
	case joint && getenv("SLURM_JOB_ID") != "":
		return srunCommand(host, line)
	case joint && getenv("PE_HOSTFILE") != "":
		return []string{"qrsh", "-inherit", "-V", host, line}
	}
	return sshCommand(host, line)
}

// ErrNoHelper says that the manager of a cluster has no room for more than the job's own processes on its hosts.
var ErrNoHelper = errors.New("its manager, Grid Engine, would take a core of the job for it")

// HelperCommand is how the command of a helper of the agent gets to another host of the attempt: as a step of the
// attempt's own job in Slurm, that takes nothing from the others, else by ssh.
func HelperCommand(host string, words []string, getenv func(string) string) ([]string, error) {
	self, err := ownProgram()
	if err != nil {
		return nil, err
	}
	line := "exec " + self + " " + strings.Join(words, " ")
	switch {
	case getenv("SLURM_JOB_ID") != "":
		return srunCommand(host, line), nil
	case getenv("PE_HOSTFILE") != "":
		return nil, ErrNoHelper
	}
	return sshCommand(host, line), nil
}

func srunCommand(host, line string) []string {
	return []string{"srun", "--nodes=1", "--ntasks=1", "--overlap", "--nodelist=" + host, "/bin/sh", "-c", line}
}

func sshCommand(host, line string) []string {
	return []string{"ssh", "-o", "BatchMode=yes", "-o", "ControlPath=none", "-o", "ServerAliveInterval=5", "-o",
		"ServerAliveCountMax=3",
		"-o", "ConnectTimeout=15", "-o", "ClearAllForwardings=yes", "-o", "LogLevel=ERROR", "-T", "--", host, line}
}

// sshFailed is ssh's own exit code, rather than that of what it ran.
const sshFailed = 255

// LostVariable names the file in which a launcher notes that it lost a host: what
// its mpirun says of that looks like a fault of the program.
const LostVariable = "GODWIT_LOST_HOST"

func noteLostHost(host string) {
	if file := os.Getenv(LostVariable); file != "" {
		_ = os.WriteFile(file, []byte(host), 0o600) // else the program is blamed
	}
}

// keepAlive tells the limb that we are there until that is no longer so: we are to
// end, or whoever started us is gone.
func keepAlive(in io.Writer, parent int, end func()) {
	leave := make(chan os.Signal, 1)
	signal.Notify(leave, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	look, tell := time.NewTicker(200*time.Millisecond), time.NewTicker(Beat)
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
	self, err := ownProgram()
	if err != nil {
		return "", err
	}
	how := "plain"
	if yield {
		how = "yield"
	}
	return fmt.Sprintf("exec %s limb %s %x", self, how, command), nil
}

// ownProgram is the name of our binary, here and on the other hosts.
func ownProgram() (string, error) {
	self, err := os.Executable()
	if err == nil && !regexp.MustCompile(`^[A-Za-z0-9/._+@=-]+$`).MatchString(self) {
		err = fmt.Errorf("%s: such a name does not come through a shell", self)
	}
	return self, err
}

func launchFails(err error) int {
	fmt.Fprintln(os.Stderr, "godwit launch:", err)
	return 1
}
