package agent

import (
	"errors"

	"github.com/godwit-hpc/godwit/internal/checkpoint"
)

// methodsHere are the checkpoint methods of this machine.
func methodsHere() func(name string) (checkpoint.Method, error) {
	return func(string) (checkpoint.Method, error) { return nil, errors.ErrUnsupported }
}
