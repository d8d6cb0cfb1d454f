package calibrate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// version changes with the work that is measured: what was measured before is
// then no longer valid.
const version = 1

// measurementsPerModel is how often a model of CPU is measured before its speed is settled.
// The fastest counts: whatever disturbs only ever slows down.
const measurementsPerModel = 3

// entry is what is known of one model of CPU.
type entry struct {
	Speed    float64 `json:"speed"`
	Measured int     `json:"measured"`
}

// CachedSpeed is MeasureSpeed with a memory: the file cache keeps what was measured on
// this model of CPU, so that after the first few times the answer costs nothing.
// Without a cache ("") it is always measured; one that cannot be read or written
// is done without.
func CachedSpeed(ctx context.Context, cpu int, cache string) (float64, error) {
	if cache == "" {
		return MeasureSpeed(ctx, cpu)
	}
	key := ModelName(cpu)
	known := readCache(cache)
	was := known[key]
	if was.Measured >= measurementsPerModel && was.Speed > 0 {
		return was.Speed, nil
	}
	speed, err := MeasureSpeed(ctx, cpu)
	if err != nil {
		return 0, err
	}
	was.Speed = max(was.Speed, speed)
	was.Measured++
	known[key] = was
	_ = writeCache(cache, known) // it is measured again then
	return was.Speed, nil
}

func readCache(path string) map[string]entry {
	known := map[string]entry{}
	data, err := os.ReadFile(path)
	if err == nil && json.Unmarshal(data, &known) == nil && known != nil {
		return known
	}
	return map[string]entry{}
}

// writeCache puts the whole file in its place at once: several processes may.
func writeCache[E any](path string, known map[string]E) error {
	data, err := json.MarshalIndent(known, "", "\t")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(data, '\n'))
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// ModelName names what a measurement is valid for: this kind of CPU, with this
// microcode, for the work as this compiler made it.
func ModelName(cpu int) string {
	data, _ := os.ReadFile("/proc/cpuinfo") // without it all CPUs are alike
	return fmt.Sprintf("%s; %s; work %d", parseModel(data, max(0, cpu)), runtime.Version(), version)
}

// parseModel takes from /proc/cpuinfo what identifies the model of a CPU.
func parseModel(cpuinfo []byte, cpu int) string {
	telling := []string{"vendor_id", "model name", "cpu family", "model", "stepping", "microcode", "cache size",
		"CPU implementer", "CPU part", "CPU variant", "CPU revision"}
	var parts []string
	for block := range bytes.SplitSeq(cpuinfo, []byte("\n\n")) {
		parts = parts[:0]
		ours := false
		for line := range strings.Lines(string(block)) {
			name, value, _ := strings.Cut(line, ":")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			if name == "processor" && value == strconv.Itoa(cpu) {
				ours = true
			}
			for _, t := range telling {
				if name == t && value != "" {
					parts = append(parts, value)
				}
			}
		}
		if ours {
			break
		}
	}
	if len(parts) == 0 {
		return runtime.GOARCH
	}
	return strings.Join(parts, " ")
}
