package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

// The states of a CUDA process as cuda.h numbers them.
const (
	cudaRunning      = "0"
	cudaCheckpointed = "2"
)

// standInDevice is what the programs of these tests are given in place of a GPU.
const standInDevice = "/dev/zero"

// gpuFolder is a work folder with a program of two CUDA processes and a stand-in for
// NVIDIA's driver.
func gpuFolder(t *testing.T) string {
	t.Helper()
	work := t.TempDir()
	for _, args := range [][]string{
		{"cp", filepath.Join(programs(t), "gpuloop.py"), work},
		{"cp", filepath.Join(programs(t), "libcuda.so.1"), work},
		{"mkdir", filepath.Join(work, "cuda")},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return work
}

// gpuProgram is that program.
func gpuProgram(t *testing.T, work string) *checkpoint.Program {
	p := program(t, work, "python3", "gpuloop.py", "40")
	p.GPUs = []string{standInDevice}
	p.Env = append(p.Env, "LD_LIBRARY_PATH="+work, "CUDA_PROCESSES="+filepath.Join(work, "cuda"))
	return p
}

func tryGPUProgram(t *testing.T, work, image string) *attempt {
	t.Helper()
	a, err := try(t, gpuProgram(t, work), image)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// cudaStates are the states of the CUDA processes in a work folder, by process number.
func cudaStates(t *testing.T, work string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(work, "cuda", "[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		states[filepath.Base(name)] = string(text)
	}
	return states
}

// checkCUDAStates says whether both processes are in a state.
func checkCUDAStates(t *testing.T, work, when, want string) {
	t.Helper()
	states := cudaStates(t, work)
	for pid, state := range states {
		if state != want {
			t.Errorf("%s process %s is in state %s, want %s", when, pid, state, want)
		}
	}
	if len(states) != 2 {
		t.Errorf("%s there are %d CUDA processes, want 2", when, len(states))
	}
}

// driverCalls are the calls of the driver that changed something.
func driverCalls(t *testing.T, work string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(work, "cuda", "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// wantLines is what the program writes in all.
func wantLines() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "step %d\n", i)
	}
	return b.String()
}

// awaitBothProcesses waits until both processes use the GPU.
func (a *attempt) awaitBothProcesses(work string) {
	a.t.Helper()
	a.awaitLines(3)
	t := a.t.(*testing.T)
	clocktest.WaitFor(t, "two CUDA processes", func() bool { return len(cudaStates(t, work)) == 2 })
}

func TestAProgramIsSavedWithWhatItHasInGPUs(t *testing.T) {
	work := gpuFolder(t)
	a := tryGPUProgram(t, work, "")
	a.awaitBothProcesses(work)
	a.save(false, func() error {
		checkCUDAStates(t, work, "while it is saved", cudaCheckpointed)
		return nil
	})
	checkCUDAStates(t, work, "after it was saved", cudaRunning)
	a.awaitLines(strings.Count(a.text(), "\n") + 2) // it runs on

	image := a.save(true, nil)
	out, res := a.end()
	if !res.Saved {
		t.Fatalf("after the save: %+v", res)
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	copyTree(t, work, elsewhere)
	letEnd(t, elsewhere)
	b := tryGPUProgram(t, elsewhere, image)
	checkCUDAStates(t, elsewhere, "once it is continued", cudaRunning)
	more, res := b.end()
	if res.Code != 3 || res.Lost || out+more != wantLines() {
		t.Errorf("it ended with %+v and wrote\n%s", res, out+more)
	}
	save, restore := []string{"lock", "checkpoint"}, []string{"restore", "unlock"}
	want := slices.Concat(save, save, restore, restore)
	if got := driverCalls(t, elsewhere); !slices.Equal(got, slices.Concat(want, want)) {
		t.Errorf("the driver was asked to %v, want twice %v", got, want)
	}
}

func TestAProgramLeavesItsGPUsAndComesBack(t *testing.T) {
	work := gpuFolder(t)
	a := tryGPUProgram(t, work, "")
	a.awaitBothProcesses(work)
	gpus := a.run.(checkpoint.Suspender)
	if err := gpus.SuspendProgram(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkCUDAStates(t, work, "suspended,", cudaCheckpointed)
	for pid := range cudaStates(t, work) { // somebody else has the GPU
		if err := os.WriteFile(filepath.Join(work, "cuda", "fail-restore"), []byte(pid), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := gpus.ContinueProgram(); err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_NOT_SUPPORTED") {
		t.Errorf("the error is %v, want the driver's", err)
	}
	if err := os.Remove(filepath.Join(work, "cuda", "fail-restore")); err != nil {
		t.Fatal(err)
	}
	if err := gpus.ContinueProgram(); err != nil {
		t.Fatal(err)
	}
	checkCUDAStates(t, work, "continued,", cudaRunning)
	letEnd(t, work)
	out, res := a.end()
	if res.Code != 3 || out != wantLines() {
		t.Errorf("it ended with %+v and wrote\n%s", res, out)
	}
}

// One process that cannot be saved leaves both, and the program, as they were.
func TestAProgramWhoseGPUStateCannotBeSavedRunsOn(t *testing.T) {
	for _, call := range []string{"lock", "checkpoint"} {
		t.Run(call, func(t *testing.T) {
			work := gpuFolder(t)
			a := tryGPUProgram(t, work, "")
			a.awaitBothProcesses(work)
			for pid := range cudaStates(t, work) {
				if err := os.WriteFile(filepath.Join(work, "cuda", "fail-"+call), []byte(pid), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			image := t.TempDir()
			err := a.run.SaveImage(t.Context(), image, true, func() error { return errors.New("nothing is to be saved") })
			if err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_NOT_SUPPORTED") {
				t.Errorf("the error is %v, want the driver's", err)
			}
			checkCUDAStates(t, work, "after it could not be saved", cudaRunning)
			letEnd(t, work)
			if out, res := a.end(); res.Code != 3 || out != wantLines() {
				t.Errorf("it ended with %+v and wrote\n%s", res, out)
			}
		})
	}
}

func TestAProgramThatCannotComeBackToItsGPUsIsLost(t *testing.T) {
	work := gpuFolder(t)
	a := tryGPUProgram(t, work, "")
	a.awaitBothProcesses(work)
	for pid := range cudaStates(t, work) {
		if err := os.WriteFile(filepath.Join(work, "cuda", "fail-restore"), []byte(pid), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := a.run.SaveImage(t.Context(), t.TempDir(), false, func() error { return nil })
	if err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_NOT_SUPPORTED") {
		t.Errorf("the error is %v, want the driver's", err)
	}
	if _, res := a.end(); !res.Lost || !strings.Contains(res.Why, "CUDA_ERROR_NOT_SUPPORTED") {
		t.Errorf("it ended with %+v, want it lost for the driver's reason", res)
	}
}

func TestAnImageWithGPUsIsNotContinuedWithoutThem(t *testing.T) {
	work := gpuFolder(t)
	a := tryGPUProgram(t, work, "")
	a.awaitBothProcesses(work)
	image := a.save(true, nil)
	a.end()
	p := gpuProgram(t, work)
	p.GPUs = nil
	if _, err := try(t, p, image); err == nil || !strings.Contains(err.Error(), "saved with GPUs and was given none") {
		t.Errorf("the error is %v", err)
	}
	p = gpuProgram(t, work)
	p.GPUs = []string{"/dev/no-such-gpu"}
	if _, err := try(t, p, image); err == nil || !strings.Contains(err.Error(), "/dev/no-such-gpu") {
		t.Errorf("the error is %v", err)
	}
}
