package runlog

import (
	"reflect"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// areEventsEqual reports whether two events are equal. An empty list and none are: JSON
// does not tell them apart.
func areEventsEqual(a, b *core.Event) bool {
	if !slices.Equal(a.Procs, b.Procs) || !sameJob(a.Spec, b.Spec) {
		return false
	}
	x, y := *a, *b
	x.Procs, y.Procs, x.Spec, y.Spec = nil, nil, nil, nil
	return reflect.DeepEqual(x, y)
}

func sameJob(a, b *core.Job) bool {
	if a == nil || b == nil || len(a.Components) != len(b.Components) {
		return a == b
	}
	for i := range a.Components {
		if !sameComponent(a.Components[i], b.Components[i]) {
			return false
		}
	}
	x, y := *a, *b
	x.Components, y.Components = nil, nil
	return reflect.DeepEqual(x, y)
}

func sameComponent(a, b core.Component) bool {
	if !slices.Equal(a.Inputs, b.Inputs) || !slices.Equal(a.Clusters, b.Clusters) || !slices.Equal(a.Bring, b.Bring) {
		return false
	}
	a.Inputs, b.Inputs, a.Clusters, b.Clusters, a.Bring, b.Bring = nil, nil, nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}
