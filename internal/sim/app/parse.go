package app

import (
	"math"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// The forms a speed-up may be written in, as shown to whoever got one wrong.
const (
	wantSpeedup = "linear, amdahl:SERIAL, downey:A=64,sigma=1 or table:2=600,4=420"
	wantAmdahl  = "amdahl:SERIAL with the serial part between 0 and 1, like amdahl:0.05"
	wantDowney  = "downey:A=64,sigma=1 with the average parallelism A from 1 to 1e+09 and sigma from 0 to 1e+06"
	wantTable   = "table:SIZE=SECONDS,…, like table:2=600,4=420"
)

// Downey's parameters are bounded so that products of them stay exact enough.
const (
	maxParallelism = 1e9
	maxSigma       = 1e6
)

// ParseSpeedup reads the compact form of a speed-up, as in a flag or a
// scenario: linear, amdahl:0.05, downey:A=64,sigma=1, table:2=600,4=420.
// The error is a *badinput.Error about the field named.
func ParseSpeedup(field, text string) (Speedup, error) {
	bad := func(want string) error {
		return &badinput.Error{Field: field, Value: text, Want: want}
	}
	model, args, hasArgs := strings.Cut(text, ":")
	switch {
	case model == "linear" && !hasArgs:
		return Linear{}, nil
	case model == "amdahl":
		a := Amdahl{}
		var ok bool
		if a.Serial, ok = parseNumber(args, 0, 1); !ok {
			return nil, bad(wantAmdahl)
		}
		return a, nil
	case model == "downey":
		d, ok := parseDowney(args)
		if !ok {
			return nil, bad(wantDowney)
		}
		return d, nil
	case model == "table":
		points, ok := parsePoints(args)
		if !ok {
			return nil, bad(wantTable)
		}
		t, err := NewTable(points)
		if err != nil {
			return nil, bad(wantTable + ": " + err.Error())
		}
		return t, nil
	}
	return nil, bad(wantSpeedup)
}

func parseDowney(args string) (d Downey, ok bool) {
	seen := map[string]bool{}
	for arg := range strings.SplitSeq(args, ",") {
		key, value, _ := strings.Cut(arg, "=")
		ok := !seen[key]
		seen[key] = true
		switch key {
		case "A":
			var fits bool
			d.A, fits = parseNumber(value, 1, maxParallelism)
			ok = ok && fits
		case "sigma":
			var fits bool
			d.Sigma, fits = parseNumber(value, 0, maxSigma)
			ok = ok && fits
		default:
			ok = false
		}
		if !ok {
			return d, false
		}
	}
	return d, seen["A"] && seen["sigma"]
}

func parsePoints(args string) (points []Point, ok bool) {
	for arg := range strings.SplitSeq(args, ",") {
		size, seconds, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(size)
		if err != nil {
			return nil, false
		}
		s, ok := parseNumber(seconds, -math.MaxFloat64, math.MaxFloat64)
		if !ok {
			return nil, false
		}
		points = append(points, Point{n, s})
	}
	return points, true
}

// parseNumber reads a decimal between lo and hi; NaN is between nothing.
func parseNumber(text string, lo, hi float64) (float64, bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && x >= lo && x <= hi
}
