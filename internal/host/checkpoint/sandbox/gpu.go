package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// driverFile says the version of NVIDIA's driver; there is none where there is no driver.
const driverFile = "/sys/module/nvidia/version"

// driverVersion is the version of this host's NVIDIA driver, "" if it has none.
func driverVersion() string {
	text, err := os.ReadFile(driverFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// DeviceFiles are the device files of this host's NVIDIA GPUs.
func DeviceFiles() []string {
	names, err := filepath.Glob("/dev/nvidia[0-9]*")
	if err != nil {
		return nil // the pattern is right
	}
	return names
}

// CanSaveGPUs says whether programs that use this host's NVIDIA GPUs can be saved, and if
// not, why. It looks at the driver anew each time: it may have been exchanged.
func CanSaveGPUs(ctx context.Context) (ok bool, why string) {
	binary, err := FindBinary()
	if err != nil {
		return false, err.Error()
	}
	cmd := exec.CommandContext(ctx, binary, "probe-gpus")
	cmd.Env = []string{}
	said, err := cmd.CombinedOutput()
	if err != nil {
		if words := strings.TrimSpace(string(said)); words != "" {
			return false, words
		}
		return false, err.Error()
	}
	return true, ""
}

// controlDevices are what a program needs besides the GPUs that it was given.
var controlDevices = []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}

// gpuDevices are the device files of a program with GPUs, as gVisor makes them inside.
func gpuDevices(gpus []string) ([]ociDevice, error) {
	if len(gpus) == 0 {
		return nil, nil
	}
	var out []ociDevice
	for i, path := range append(append([]string{}, gpus...), controlDevices...) {
		var st unix.Stat_t
		err := unix.Stat(path, &st)
		switch {
		case errors.Is(err, fs.ErrNotExist) && i >= len(gpus):
			continue // not every driver has all of them
		case err != nil:
			return nil, fmt.Errorf("looking at the GPU's device %s: %w", path, err)
		case st.Mode&unix.S_IFMT != unix.S_IFCHR:
			return nil, fmt.Errorf("%s is not the device of a GPU", path)
		}
		out = append(out, ociDevice{
			Path: path, Type: "c", Major: unix.Major(st.Rdev), Minor: unix.Minor(st.Rdev), FileMode: 0o666,
		})
	}
	return out, nil
}

// checkGPUs says why an image cannot be continued where there are GPUs for it or not,
// under the driver of this host: it holds what that very driver saved.
func (r record) checkGPUs(given bool, driver string) error {
	switch {
	case r.GPUs && !given:
		return errors.New("the program was saved with GPUs and was given none here")
	case r.GPUs && r.GPUDriver != driver:
		return &ForeignError{driverFile, fmt.Sprintf("says %q here and said %q where it was saved", driver, r.GPUDriver)}
	}
	return nil
}

// leaveGPUs has what the program keeps in GPUs brought into its memory. The lock of saves is held.
func (r *run) leaveGPUs() error {
	if !r.cell.record.GPUs || r.vacated {
		return nil
	}
	if _, err := r.line.sendAndWait(order{Do: "save-gpus"}); err != nil {
		return fmt.Errorf("taking the program off its GPUs: %w", r.orEnded(err))
	}
	return nil
}

// enterGPUs brings it back, unless others are to have the GPUs.
func (r *run) enterGPUs() error {
	if !r.cell.record.GPUs || r.vacated {
		return nil
	}
	if _, err := r.line.sendAndWait(order{Do: "restore-gpus"}); err != nil {
		return fmt.Errorf("bringing the program back to its GPUs: %w", r.orEnded(err))
	}
	return nil
}

// loseProgram ends a program that cannot go on though it is not at fault: it may be
// continued from an earlier image.
func (r *run) loseProgram(why error) {
	r.mu.Lock()
	r.lost = why.Error()
	r.mu.Unlock()
	r.endProgram()
}

// SuspendProgram stops the program in its sandbox and has it leave its GPUs to others.
func (r *run) SuspendProgram(ctx context.Context) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.leaveGPUs(); err != nil {
		return err
	}
	r.vacated = r.cell.record.GPUs
	if _, err := r.line.sendAndWait(order{Do: "pause"}); err != nil {
		return fmt.Errorf("stopping the program: %w", r.orEnded(err))
	}
	return nil
}

// ContinueProgram lets it run on. If its GPUs are still in use by others it stays where it is.
func (r *run) ContinueProgram() error {
	r.saving.Lock()
	defer r.saving.Unlock()
	if _, err := r.line.sendAndWait(order{Do: "resume"}); err != nil {
		return fmt.Errorf("letting the program run on: %w", r.orEnded(err))
	}
	if !r.vacated {
		return nil
	}
	r.vacated = false
	err := r.enterGPUs()
	if err == nil {
		return nil
	}
	r.vacated = true
	if _, again := r.line.sendAndWait(order{Do: "pause"}); again != nil {
		r.loseProgram(err)
	}
	return err
}
