package checkpointtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// argument, as the first, says that a test binary is to be a program of the
// suite; the second says which.
const argument = "checkpointtest-program"

// RunProgramIfAsked makes a test binary one of the suite's programs if it was started as
// such, and does not return then.
func RunProgramIfAsked() {
	if len(os.Args) < 3 || os.Args[1] != argument {
		return
	}
	if err := runProgram(os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	os.Exit(0)
}

func runProgram(name string, args []string) error {
	switch name {
	case "count":
		return countSteps(args)
	case "surroundings":
		dir, err := os.Getwd()
		fmt.Println(strings.Join(args, "|"), os.Getenv("SUITE"), dir)
		fmt.Fprintln(os.Stderr, "to stderr")
		return err
	case "exit":
		code, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		os.Exit(code)
	case "signal":
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		signal.Reset()
		if err := syscall.Kill(os.Getpid(), syscall.Signal(n)); err != nil {
			return err
		}
		time.Sleep(time.Hour)
	case "write": // until nobody reads
		for {
			if _, err := os.Stdout.WriteString("more\n"); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	case "sleep":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "careful": // writes down what it has before it ends
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		fmt.Println("ready")
		<-told
		if err := os.WriteFile("saved.txt", []byte("saved"), 0o600); err != nil {
			return err
		}
		os.Exit(7)
	case "daemon": // leaves a stubborn grandchild in a session of its own
		return startAnother(true, "daemon2")
	case "daemon2":
		return startAnother(false, "stubborn")
	case "family":
		for range 5 {
			if err := startAnother(false, "stubborn"); err != nil {
				return err
			}
		}
		time.Sleep(time.Hour)
	case "bomb":
		return doubleItself(args)
	}
	return fmt.Errorf("there is no program %s", name)
}

// startAnother starts another program, which runs on by itself.
func startAnother(session bool, args ...string) error {
	cmd := exec.Command("/proc/self/exe", append([]string{argument}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	return cmd.Start()
}

// doubleItself doubles itself until there are so many of it, or as many as can be.
func doubleItself(args []string) error {
	most, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	for _, part := range []int{(most - 1) / 2, most - 1 - (most-1)/2} {
		if part > 0 {
			_ = startAnother(false, "bomb", strconv.Itoa(part)) // at the limit it cannot be
		}
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
	return nil
}

// progress is what the counting program knows: all that its output depends on.
type progress struct {
	Step int
	Hash uint64
	Log  int64 // bytes of the file log
}

const (
	stateFile = "state.json"
	logFile   = "log"
	goFile    = "go" // lets the counting program end
	saveEvery = 40   // steps between saves of a program that saves itself
	pace      = time.Millisecond
)

// nextStep does one step and returns what it prints.
func (p *progress) nextStep() (out, err string) {
	p.Step++
	h := fnv.New64a()
	fmt.Fprint(h, p.Hash, p.Step) //nolint:errcheck // cannot fail
	p.Hash = h.Sum64()
	out = fmt.Sprintf("step %d %016x\n", p.Step, p.Hash)
	if p.Step%10 == 0 {
		err = fmt.Sprintf("warning %d\n", p.Step)
	}
	return out, err
}

// expectedOutput is all output of a run of so many steps.
func expectedOutput(steps int) (out, err string) {
	var p progress
	var o, e strings.Builder
	for range steps {
		out, err := p.nextStep()
		o.WriteString(out)
		e.WriteString(err)
	}
	return o.String(), e.String()
}

// advanceStep does one step and writes what it prints.
func (p *progress) advanceStep(log *os.File) error {
	out, errs := p.nextStep()
	n, err := log.WriteString(out)
	if err != nil {
		return err
	}
	p.Log += int64(n)
	if _, err := os.Stdout.WriteString(out); err != nil {
		return err
	}
	_, err = os.Stderr.WriteString(errs)
	return err
}

// countSteps prints so many lines, to stdout, some to stderr, all to a file, and
// saves itself in the way that it is told. It takes its last step only when it
// may: until then it lives through all that is done to it, however slow that is.
func countSteps(args []string) error {
	steps, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	way := SaveStyle(args[1])
	var p progress
	if text, err := os.ReadFile(stateFile); err == nil && way != Transparent {
		if err := json.Unmarshal(text, &p); err != nil {
			return err
		}
	}
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := log.Truncate(p.Log); err != nil {
		return err
	}
	if _, err := log.Seek(p.Log, 0); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	if way == Ends || way == GoesOn {
		signal.Notify(asked, syscall.SIGUSR1)
	}
	for turns := 1; p.Step < steps; turns++ {
		if _, err := os.Stat(goFile); p.Step < steps-1 || err == nil {
			if err := p.advanceStep(log); err != nil {
				return err
			}
		}
		time.Sleep(pace)
		select {
		case <-asked:
			if err := p.saveState(); err != nil || way == Ends {
				return err
			}
		default:
		}
		if way == Itself && turns >= saveEvery && p.Step < steps {
			if err := p.saveState(); err != nil {
				return err
			}
			os.Exit(85)
		}
	}
	return nil
}

// saveState writes the state, under another name first.
func (p *progress) saveState() error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := os.WriteFile(stateFile+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(stateFile+".new", stateFile)
}
