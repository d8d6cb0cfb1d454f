package loads

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// planetLab reads the CPU use of PlanetLab hosts on some days, every 5
// minutes. Hosts whose use hardly changes or is almost full are left out.
func planetLab(dir string, days ...string) ([][]float64, error) {
	file := filepath.Join(dir, "planetlab-cpu-3days.tar.xz")
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	plain, err := exec.Command("xz", "-dc", file).Output()
	if err != nil {
		return nil, fmt.Errorf("unpacking %s with xz: %w", file, err)
	}
	var all [][]float64
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			if len(all) == 0 {
				return nil, fmt.Errorf("%s has no hosts of %s", file, strings.Join(days, ", "))
			}
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		if day, _, _ := strings.Cut(h.Name, "/"); h.Typeflag != tar.TypeReg || !slices.Contains(days, day) {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		use, err := parsePercentages(strings.Fields(string(text)))
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", file, h.Name, err)
		}
		if mean, sd := meanAndDeviation(use); len(use) > 100 && sd > 0.05 && mean < 0.8 {
			all = append(all, use)
		}
	}
}

// readAlibaba reads the mean CPU use of a data centre, every 10 seconds of a day.
func readAlibaba(dir string) ([]float64, error) {
	file := filepath.Join(dir, "alibaba2018_day_1_machine_usage_day_1_grouped_10_seconds.csv.gz")
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", file, err)
	}
	rows, err := csv.NewReader(plain).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var fields []string
	for _, row := range rows[min(1, len(rows)):] {
		if row[0] != "" { // else a gap in the record
			fields = append(fields, row[0])
		}
	}
	use, err := parsePercentages(fields)
	if err == nil && len(use) < 2 {
		err = errors.New("no values")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return use, nil
}

// parsePercentages reads the use of a processor in per cent as parts of one.
func parsePercentages(fields []string) ([]float64, error) {
	var use []float64
	for _, field := range fields {
		x, err := strconv.ParseFloat(field, 64)
		if err != nil || !(x >= 0 && x <= 100) {
			return nil, fmt.Errorf("a use of %q, not 0 to 100 per cent", field)
		}
		use = append(use, x/100)
	}
	return use, nil
}

func meanAndDeviation(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(sd)
}
