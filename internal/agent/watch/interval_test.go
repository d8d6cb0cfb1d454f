package watch

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

func TestSamplesAreNeitherTooManyNorTooFew(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		0: usualSample, -1: usualSample, time.Millisecond: minSample, 5 * time.Second: 5 * time.Second, time.Hour: maxSample,
	} {
		if got := SampleInterval(&wire.Attempt{Every: wire.Every{Sample: given}}); got != want {
			t.Errorf("%v gives %v", given, got)
		}
	}
}
