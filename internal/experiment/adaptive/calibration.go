package adaptive

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/lazyregexp"
)

// simulated is what the test of package predict prints of the loads that were
// not used to choose the constants of the predictor:
//
//	go test ./internal/predict -run TestBandsHold -v | sed -n 's/^.*checking, //p'
//
//go:embed calibration.txt
var simulated string

// calibrated is how a rule did on one kind of load.
type calibrated struct {
	rule, load             string
	held, deviation, width float64 // per cent
	middle, off9           float64 // per cent
}

var calibrationLine = lazyregexp.New(`^(.+?): (.+?) +bands hold +([\d.]+) ± ([\d.]+) % \(.*width +([\d.]+) %\), error: median +([\d.]+) %, 0\.9 quantile +([\d.]+) %`)

// readCalibration reads what the test printed.
func readCalibration(text string) []calibrated {
	var list []calibrated
	for line := range strings.Lines(text) {
		m := calibrationLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		c := calibrated{rule: m[1], load: m[2]}
		for i, to := range []*float64{&c.held, &c.deviation, &c.width, &c.middle, &c.off9} {
			*to, _ = strconv.ParseFloat(m[3+i], 64) // the expression lets only numbers through
		}
		list = append(list, c)
	}
	return list
}
