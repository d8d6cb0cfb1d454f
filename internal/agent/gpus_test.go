package agent

import (
	"slices"
	"testing"
)

func TestAProgramHasTheGPUsThatItsEnvironmentNames(t *testing.T) {
	devices := []string{"/dev/nvidia0", "/dev/nvidia1"}
	for _, c := range []struct {
		env  []string
		want []string
	}{
		{nil, nil},
		{[]string{"PATH=/bin"}, nil},
		{[]string{"CUDA_VISIBLE_DEVICES="}, nil},
		{[]string{"CUDA_VISIBLE_DEVICES=-1"}, nil},
		{[]string{"CUDA_VISIBLE_DEVICES=NoDevFiles"}, nil},
		{[]string{"CUDA_VISIBLE_DEVICES=0"}, devices},
		{[]string{"CUDA_VISIBLE_DEVICES=1,0"}, devices},
		{[]string{"CUDA_VISIBLE_DEVICES=GPU-467338dd"}, devices},
		{[]string{"CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES="}, nil},
	} {
		if got := visibleGPUs(c.env, devices); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.env, got, c.want)
		}
	}
}
