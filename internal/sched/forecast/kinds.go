package forecast

// What recordings say about two kinds of series, in the order of names; from
// the halves of the recordings that were not used to judge (see
// docs/decisions/0014-forecasts.md). The last value of a bandwidth is worth
// much, that of a host's CPU use little.
var (
	ofBandwidth = Prior{known: true, excess: [nMembers]float64{
		0.07, 0.72,
		0.20, 0.28, 0.41, 0.51, 0.61,
		0.21, 0.28, 0.42, 0.51, 0.61,
		0.41, 0.50, 0.60,
		0.54, 0.42, 0.28, 0.20, 0.11, 0.07,
		0.08, 0.21,
		0.12, 0.41, 0.13,
	}}
	ofLoad = Prior{known: true, excess: [nMembers]float64{
		0.40, 0.11,
		0.22, 0.17, 0.13, 0.10, 0.09,
		0.16, 0.10, 0.04, 0.02, 0.02,
		0.05, 0.03, 0.03,
		0.09, 0.10, 0.12, 0.15, 0.21, 0.30,
		0.11, 0.05,
		0.10, 0.11, 0.27,
	}}
)

// BandwidthPrior is what is known about the throughput of a network path, sampled
// every few seconds.
func BandwidthPrior() Prior { return ofBandwidth }

// LoadPrior is what is known about the CPU use of a host that many share, sampled
// every few minutes.
func LoadPrior() Prior { return ofLoad }
