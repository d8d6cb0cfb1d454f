//go:build gpu

package sandbox_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

// These tests need an NVIDIA GPU and PyTorch, which CI has not: `make gpu-test`. What
// they print stands in docs/experiments/gpu.md.

// trainingSteps is how long the training loop is: some 8 s.
const trainingSteps = "1500"

func trainingFolder(t *testing.T) string {
	t.Helper()
	work := t.TempDir()
	text, err := os.ReadFile("../../../../examples/jobs/train.py")
	if err == nil {
		err = os.WriteFile(filepath.Join(work, "train.py"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return work
}

func trainingProgram(t *testing.T, work, gigabytes string) *checkpoint.Program {
	p := program(t, work, "python3", "train.py", trainingSteps, gigabytes)
	p.GPUs = []string{"/dev/nvidia0"}
	p.Env = append(p.Env, "LD_LIBRARY_PATH="+os.Getenv("LD_LIBRARY_PATH"))
	return p
}

func startTraining(t *testing.T, work, image, gigabytes string) *attempt {
	t.Helper()
	a, err := try(t, trainingProgram(t, work, gigabytes), image)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// usedGPUMemory is what all programs have allocated, in MiB.
func usedGPUMemory(t *testing.T) int {
	t.Helper()
	out, err := exec.Command("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits").Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.Split(string(out), "\n")[0]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestATrainingLoopMovedTwiceEndsWithTheSameWeights(t *testing.T) {
	for _, gigabytes := range []string{"0", ballastGigabytes()} {
		t.Run(gigabytes+"GB", func(t *testing.T) {
			quiet := trainingFolder(t)
			began := time.Now()
			wantOut, want := startTraining(t, quiet, "", gigabytes).end()
			if want.Code != 0 {
				t.Fatalf("undisturbed it ended with %+v:\n%s", want, wantOut)
			}
			t.Logf("undisturbed: %v in the sandbox", time.Since(began).Round(time.Millisecond))

			work := trainingFolder(t)
			a, image, out := (*attempt)(nil), "", ""
			for move := range 3 {
				began := time.Now()
				a = startTraining(t, work, image, gigabytes)
				if move > 0 {
					t.Logf("continued after %v, %d MiB in the GPU", time.Since(began).Round(time.Millisecond), usedGPUMemory(t))
				}
				if move == 2 {
					break
				}
				a.awaitLines(5)
				began = time.Now()
				image = a.save(true, nil)
				text, res := a.end()
				if !res.Saved {
					t.Fatalf("after the save: %+v", res)
				}
				out += text
				t.Logf("saved after %v, %d MiB left in the GPU", time.Since(began).Round(time.Millisecond), usedGPUMemory(t))
				elsewhere := filepath.Join(t.TempDir(), "elsewhere")
				copyTree(t, work, elsewhere)
				work = elsewhere
			}
			text, res := a.end()
			if res.Code != 0 || out+text != wantOut {
				t.Errorf("it ended with %+v and wrote\n%s\nundisturbed\n%s", res, out+text, wantOut)
			}
			if got, want := contents(t, work), contents(t, quiet); got != want {
				t.Errorf("its folder holds\n%.500s\nundisturbed\n%.500s", got, want)
			}
		})
	}
}

// ballastGigabytes is how much a large program has in its GPU.
func ballastGigabytes() string { return cmp.Or(os.Getenv("GODWIT_GPU_GIGABYTES"), "16") }

func TestTwoTrainingLoopsShareAGPUByTurns(t *testing.T) {
	gigabytes := ballastGigabytes()
	quiet := trainingFolder(t)
	wantOut, want := startTraining(t, quiet, "", gigabytes).end()
	if want.Code != 0 {
		t.Fatalf("undisturbed it ended with %+v:\n%s", want, wantOut)
	}
	firstWork, secondWork := trainingFolder(t), trainingFolder(t)
	first := startTraining(t, firstWork, "", gigabytes)
	first.awaitLines(5)
	before := usedGPUMemory(t)
	gpus := first.run.(checkpoint.Suspender)
	began := time.Now()
	if err := gpus.SuspendProgram(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("left the GPU after %v: %d MiB before, %d after", time.Since(began).Round(time.Millisecond), before, usedGPUMemory(t))
	second, res := startTraining(t, secondWork, "", gigabytes).end()
	if res.Code != 0 || second != wantOut {
		t.Errorf("the second ended with %+v and wrote\n%s", res, second)
	}
	began = time.Now()
	if err := gpus.ContinueProgram(); err != nil {
		t.Fatal(err)
	}
	t.Logf("came back after %v", time.Since(began).Round(time.Millisecond))
	if out, res := first.end(); res.Code != 0 || out != wantOut {
		t.Errorf("the first ended with %+v and wrote\n%s", res, out)
	}
}
