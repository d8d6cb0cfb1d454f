package engine_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// Every file of testdata is the transcript of some jobs' lives: blocks of
// directives (see script_test.go), each with what the engine made of them
// below a line of dashes. `go test ./internal/engine -update` rewrites what is
// below the dashes; read the difference before you commit it.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			was, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			is := perform(t, string(was))
			if *update {
				if err := os.WriteFile(file, []byte(is), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if is != string(was) {
				t.Errorf("%s tells otherwise (-was +is):\n%s", file, firstDifference(string(was), is))
			}
		})
	}
}

const dashes = "----"

// perform plays a transcript and returns it as it is now.
func perform(t *testing.T, text string) string {
	s := &stage{}
	var b strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		script, _, played := strings.Cut(block, "\n"+dashes)
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(strings.TrimSpace(script) + "\n")
		said := ""
		for _, line := range strings.Split(strings.TrimSpace(script), "\n") {
			if !strings.HasPrefix(line, "#") {
				played = true
				out, err := s.play(line)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				said += out
			}
		}
		if played {
			b.WriteString(dashes + "\n" + said)
		}
	}
	s.verify(t)
	return b.String()
}

// verify replays the events of the transcript on a fresh world.
func (s *stage) verify(t *testing.T) {
	again := world.New(s.spec)
	for i := range s.log {
		if err := again.ApplyEvent(&s.log[i]); err != nil {
			t.Fatalf("replay: %v", err)
		}
	}
	if a, b := s.eng.World().AppendState(nil), again.AppendState(nil); !bytes.Equal(a, b) {
		t.Errorf("the world is\n%s\nand its replay\n%s", a, b)
	}
}

// stage is where a transcript is played.
type stage struct {
	spec  world.Spec
	cfg   engine.Config
	eng   *engine.Engine
	now   core.Time
	wake  core.Time
	log   []core.Event
	files []string
	holds int // held jobs that a step looks at; 0: as many as usual
}

// restart makes the engine again from the log.
func (s *stage) restart() error {
	w, err := replay(s.spec, s.log)
	if err != nil {
		return err
	}
	if s.eng = engine.New(s.cfg, w); s.holds > 0 {
		s.eng.LimitHolds(s.holds)
	}
	return nil
}

// step tells the engine something and writes what it made of it.
func (s *stage) step(in core.Input) (string, error) {
	out := s.eng.Step(s.now, &in)
	s.wake = out.WakeAt
	var b strings.Builder
	for i := range out.Events {
		fmt.Fprintf(&b, "  %s\n", s.event(&out.Events[i]))
	}
	for i := range out.Commands {
		fmt.Fprintf(&b, "  > %s\n", s.command(&out.Commands[i]))
	}
	if b.Len() == 0 {
		b.WriteString("  nothing happens\n")
	}
	if s.wake != core.Never {
		fmt.Fprintf(&b, "  wake at %s\n", seconds(s.wake))
	}
	s.log = append(s.log, slices.Clone(out.Events)...)
	return b.String(), s.eng.World().CheckInvariants()
}

func firstDifference(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d\n%s\n%s", i+1, window("-", a, i), window("+", b, i))
		}
	}
	return ""
}

func window(mark string, lines []string, i int) string {
	lines = lines[min(i, len(lines)):min(i+8, len(lines))]
	return mark + strings.Join(lines, "\n"+mark)
}

// procs reads a set as it is written: 0-3,6.
func procs(text string) core.ProcSet {
	var set core.ProcSet
	for _, r := range split(text) {
		lo, hi, ranged := strings.Cut(r, "-")
		if !ranged {
			hi = lo
		}
		a, _ := strconv.Atoi(lo)
		b, _ := strconv.Atoi(hi)
		set = append(set, core.Range{Lo: int32(a), Hi: int32(b) + 1})
	}
	return set
}
