package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/native"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// probeTimeout is how long it may take to find out whether there is a sandbox here. It
// takes a moment, but a job that wants one ends for good where there seems to be none.
const probeTimeout = 2 * time.Minute

// methodsHere are the checkpoint methods of this machine.
func methodsHere(name string) (checkpoint.Method, error) {
	switch name {
	case checkpointing.MethodRestart:
		return native.RestartMethod(native.Options{}), nil
	case checkpointing.MethodSignal:
		return native.SignalMethod(native.Options{}), nil
	case checkpointing.MethodExit85:
		return native.ExitMethod(native.Options{}), nil
	case checkpointing.MethodSRS:
		return native.SRSMethod(native.Options{}), nil
	case checkpointing.MethodSandbox:
		ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
		defer cancel()
		if ok, why := sandbox.IsAvailable(ctx); !ok {
			return nil, errors.New(why)
		}
		return sandbox.Method{}, nil
	}
	return nil, fmt.Errorf("there is no checkpoint method %q", name)
}
