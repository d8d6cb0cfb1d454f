package agent

import (
	"context"
	"strings"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
)

// cudaDevicesVariable names the GPUs that a program may use, by number or UUID. Batch
// systems set it for jobs that ask for GPUs, and CUDA heeds it.
const cudaDevicesVariable = "CUDA_VISIBLE_DEVICES"

// visibleGPUs are the device files that a program with this environment needs in a
// sandbox: those of all GPUs of the host if it may use any, since CUDA counts them all
// before it leaves out those that are not named.
func visibleGPUs(env, devices []string) []string {
	named := ""
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, cudaDevicesVariable+"="); ok {
			named = value
		}
	}
	switch first, _, _ := strings.Cut(named, ","); strings.TrimSpace(first) {
	case "", "-1", "NoDevFiles": // as CUDA and Slurm say that there are none
		return nil
	}
	return devices
}

// whyGPUsCannotBeSaved says why a program with these GPUs cannot be saved in a sandbox;
// "" if it can, or has none.
func whyGPUsCannotBeSaved(gpus []string) string {
	if len(gpus) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	if ok, why := sandbox.CanSaveGPUs(ctx); !ok {
		return "it uses GPUs, and " + why
	}
	return ""
}
