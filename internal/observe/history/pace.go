package history

import (
	"math"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

const (
	// What is believed of Power before a program was seen. Measured: 0.5 for a loop
	// of few instructions, 1.3 for an interpreter.
	powerPrior, powerSd = 0.8, 0.5
	// paceNoise is how far the time of a run is off from what its slowness says,
	// as a deviation of the logarithm: the pulse is felt now and then only.
	paceNoise = 0.04
	mostPower = 2
)

// PaceOf estimates the pace of a program from its runs: by how the time of runs with
// equal arguments, in the sandbox or outside, went with the slowness.
func PaceOf(rows []Run, program string) wire.Pace {
	type group struct{ n, x, y, xx, xy float64 }
	groups := map[string]*group{}
	sum, n := 0.0, 0.0
	for i := range rows {
		r := &rows[i]
		if r.Program != program || r.Outcome != Finished || !(r.Need > 0) || !(r.Slowness > 0) {
			continue
		}
		x, y := math.Log(r.Slowness), math.Log(r.Need)
		key := strings.Join(append([]string{strconv.FormatBool(r.Method == sandbox)}, r.Args...), "\x00")
		g := groups[key]
		if g == nil {
			g = &group{}
			groups[key] = g
		}
		g.n, g.x, g.y, g.xx, g.xy = g.n+1, g.x+x, g.y+y, g.xx+x*x, g.xy+x*y
		sum, n = sum+x, n+1
	}
	if n == 0 {
		return wire.Pace{}
	}
	// Least squares within the groups, with the prior as one more observation.
	const noise = paceNoise * paceNoise
	xx, xy := noise/(powerSd*powerSd), powerPrior*noise/(powerSd*powerSd)
	for _, g := range groups { // order-free: sums
		xx += max(0, g.xx-g.x*g.x/g.n)
		xy += g.xy - g.x*g.y/g.n
	}
	return wire.Pace{Usual: math.Exp(sum / n), Power: min(max(xy/xx, 0), mostPower)}
}
