package calibrate

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// cacheSizes are the sizes of the caches for data, nearest first, as the kernel
// tells them in files such as index0/size; where it does not, those of an ordinary
// processor.
func cacheSizes(dir fs.FS) []float64 {
	read := func(name string) string {
		text, _ := fs.ReadFile(dir, name) // what is not there is empty
		return strings.TrimSpace(string(text))
	}
	sizes := map[int]float64{}
	for i := range 10 {
		index := "index" + strconv.Itoa(i) + "/"
		level, err := strconv.Atoi(read(index + "level"))
		size := parseSize(read(index + "size"))
		if kind := read(index + "type"); err == nil && size > 0 && (kind == "Data" || kind == "Unified") {
			sizes[level] = max(sizes[level], size)
		}
	}
	var list []float64
	for level := range 10 {
		if s := sizes[level]; s > 0 && (len(list) == 0 || s > list[len(list)-1]) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		list = []float64{32 << 10, 1 << 20, 16 << 20}
	}
	return slices.Clip(list)
}

// parseSize reads a size such as 48K; 0 if it is none.
func parseSize(s string) float64 {
	unit := 1.0
	for suffix, u := range map[string]float64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = rest, u
		}
	}
	v, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0
	}
	return float64(v) * unit
}
