package calibrate

import (
	"context"
	"encoding/json"
	"os"

	"github.com/godwit-hpc/godwit/internal/perfmodel"
)

// hostEntry is what is known of the rates of one model of CPU.
type hostEntry struct {
	Host     perfmodel.Host `json:"host"`
	Measured int            `json:"measured"`
}

// Host is Rates with a memory, as Speed is Measure with one: of the first few
// measurements the best of each rate counts, since whatever disturbs slows down.
func Host(ctx context.Context, cache string) (perfmodel.Host, error) {
	key := Model(0)
	known := map[string]hostEntry{}
	if text, err := os.ReadFile(cache); err != nil || json.Unmarshal(text, &known) != nil || known == nil {
		known = map[string]hostEntry{}
	}
	was := known[key]
	if was.Measured >= enough {
		return was.Host, nil
	}
	now, err := Rates(ctx)
	if err != nil {
		return now, err
	}
	if was.Measured > 0 && len(was.Host.Levels) == len(now.Levels) {
		now = better(was.Host, now)
	}
	known[key] = hostEntry{now, was.Measured + 1}
	_ = writeCache(cache, known) // it is measured again then
	return now, nil
}

func better(a, b perfmodel.Host) perfmodel.Host {
	b.Operations, b.Flops = max(a.Operations, b.Operations), max(a.Flops, b.Flops)
	b.Speed = max(a.Speed, b.Speed)
	b.Fault = min(a.Fault, b.Fault)
	for i, l := range a.Levels {
		b.Levels[i].Latency = min(l.Latency, b.Levels[i].Latency)
		b.Levels[i].InOrder = min(l.InOrder, b.Levels[i].InOrder)
	}
	return b
}
