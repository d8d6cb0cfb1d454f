package platform

import (
	"fmt"
	"math"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// A quantity is a kind of attribute: what its units are in the unit that we
// use, as a fraction so that 50us is 0.05 ms and not a little less.
type quantity struct {
	what  string // as in "a speed such as 1.5Gf"
	units map[string]fraction
	base  string // what a number without a unit is taken as
	most  float64
}

type fraction struct{ mul, div float64 }

var (
	inGflops = quantity{"a speed such as 1.5Gf", speedUnits(), "f", maxSpeed}
	inMbps   = quantity{"a bandwidth such as 125MBps or 1Gbps", bandwidthUnits(), "Bps", maxMbps}
	inMs     = quantity{"a time such as 50us", timeUnits, "s", maxMs}
)

var timeUnits = map[string]fraction{
	"ps": {1, 1e9}, "ns": {1, 1e6}, "us": {1, 1e3}, "ms": {1, 1}, "s": {1e3, 1},
	"m": {60e3, 1}, "h": {3600e3, 1}, "d": {86400e3, 1}, "w": {604800e3, 1},
}

var prefixes = []struct {
	short, long string
	scale       float64
}{
	{"", "", 1},
	{"k", "kilo", 1e3}, {"M", "mega", 1e6}, {"G", "giga", 1e9}, {"T", "tera", 1e12},
	{"P", "peta", 1e15}, {"E", "exa", 1e18}, {"Z", "zetta", 1e21}, {"Y", "yotta", 1e24},
}

// scaleFraction is scale/unit in lowest terms, both being powers of ten.
func scaleFraction(scale, unit float64) fraction {
	if scale >= unit {
		return fraction{scale / unit, 1}
	}
	return fraction{1, unit / scale}
}

func speedUnits() map[string]fraction {
	units := map[string]fraction{}
	for _, p := range prefixes {
		units[p.short+"f"] = scaleFraction(p.scale, 1e9)
		units[p.long+"flops"] = scaleFraction(p.scale, 1e9)
	}
	return units
}

// bandwidthUnits knows bytes and bits, in powers of 1000 and, with an i, 1024.
func bandwidthUnits() map[string]fraction {
	units := map[string]fraction{}
	for i, p := range prefixes[:7] {
		for unit, bits := range map[string]float64{"Bps": 8, "bps": 1} {
			f := scaleFraction(p.scale, 1e6)
			f.mul *= bits
			units[p.short+unit] = f
			units[strings.ToUpper(p.short)+unit] = f
			if i > 0 {
				f = fraction{math.Pow(1024, float64(i)) * bits, 1e6}
				units[p.short+"i"+unit] = f
				units[strings.ToUpper(p.short)+"i"+unit] = f
			}
		}
	}
	return units
}

// readQuantity reads an attribute: above 0, or from 0 if zero is allowed.
func (x *xmlFile) readQuantity(e *element, attr string, q quantity, zero bool) float64 {
	number, unit := yamlfile.CutUnit(strings.TrimSpace(e.attrs[attr]))
	scale, known := q.units[unit]
	if unit == "" {
		scale, known = q.units[q.base], true
	}
	v, ok := yamlfile.ParseNumber(number)
	v = v * scale.mul / scale.div
	if !known || !ok || v < 0 || v > q.most || v == 0 && !zero {
		x.reportValue(e, attr, q.what)
		return 0
	}
	if unit == "" && v != 0 {
		x.ignoreElement(fmt.Sprintf("%s has no unit and is taken as %s", attributeName(e.name, attr), q.base))
	}
	return v
}
