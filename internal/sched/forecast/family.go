package forecast

import "math"

// The family. Where each kind of member begins in a list of forecasts.
const (
	nMeans, nMedians, nTrimmed, nGains = 5, 5, 3, 6

	atLast     = 0
	atMean     = 1
	atMeans    = 2
	atMedians  = atMeans + nMeans
	atTrimmed  = atMedians + nMedians
	atSmooth   = atTrimmed + nTrimmed
	atBestMean = atSmooth + nGains
	atBestMed  = atBestMean + 1
	atRegress  = atBestMed + 1
	atLevel    = atRegress + 1
	atTrend    = atLevel + 1
	nMembers   = atTrend + 1

	longest = 41 // the longest window
)

var (
	meanLengths   = [nMeans]int{3, 5, 10, 20, 40}
	medianLengths = [nMedians]int{3, 5, 11, 21, longest} // trimmed means: of the last three
	gains         = [nGains]float64{0.05, 0.1, 0.2, 0.3, 0.5, 0.75}

	names = [nMembers]string{
		"last value", "mean of all",
		"mean of 3", "mean of 5", "mean of 10", "mean of 20", "mean of 40",
		"median of 3", "median of 5", "median of 11", "median of 21", "median of 41",
		"trimmed mean of 11", "trimmed mean of 21", "trimmed mean of 41",
		"exponential smoothing (α = 0.05)", "exponential smoothing (α = 0.1)", "exponential smoothing (α = 0.2)",
		"exponential smoothing (α = 0.3)", "exponential smoothing (α = 0.5)", "exponential smoothing (α = 0.75)",
		"mean, window adapted", "median, window adapted",
		"autoregression", "mean since change", "trend",
	}
)

// keepErrors is the part of the error so far that counts beside the newest,
// where windows are adapted: about ten values.
const keepErrors = 0.9

// forecasts is what each member says.
type forecasts [nMembers]float64

// family is what the members know. All are told of every value.
type family struct {
	recent  recent
	mean    float64
	means   [nMeans]sliding
	medians [nMedians]sorted
	smooth  [nGains]float64
	errors  forecasts // of late, for the adapted windows
	regress regression
	level   level
	trend   trend
	said    forecasts // of the next value
}

func newFamily() family {
	f := family{recent: newRecent(longest)}
	for i, n := range meanLengths {
		f.means[i].length = n
	}
	for i, n := range medianLengths {
		f.medians[i] = newSorted(n)
	}
	return f
}

// renewWindows works out anew what follows from the recent values.
func (f *family) renewWindows() {
	for i := range f.means {
		f.means[i].renewSum(&f.recent)
	}
	for i := range f.medians {
		f.medians[i].sortAnew(&f.recent)
	}
}

// addValue tells all members of a value that came steps intervals after the one
// before, usually 1.
func (f *family) addValue(x, steps float64) {
	n := float64(f.recent.count + 1)
	if n > 1 {
		for i, said := range f.said {
			f.errors[i] = keepErrors*f.errors[i] + math.Abs(x-said)
		}
	}
	f.mean += (x - f.mean) / n
	for i := range f.means {
		f.means[i].addValue(&f.recent, x)
	}
	for i := range f.medians {
		f.medians[i].addValue(&f.recent, x)
	}
	for i, gain := range gains {
		if steps > 1 { // what came between is missing, what came before is that much older
			gain = 1 - math.Pow(1-gain, steps)
		}
		f.smooth[i] += max(gain, 1/n) * (x - f.smooth[i])
	}
	if steps > 1 {
		f.regress.skipGap(x)
	} else {
		f.regress.addValue(x)
	}
	f.level.addValue(x)
	f.trend.addValue(x, steps)
	f.recent.addValue(x)
	for i := range f.means {
		if f.means[i].rough || f.recent.count%longest == 0 {
			f.means[i].renewSum(&f.recent)
		}
	}
	f.askMembers()
}

// askMembers asks all members for the next value.
func (f *family) askMembers() {
	s := &f.said
	s[atLast] = f.recent.valueBack(1)
	s[atMean] = f.mean
	for i := range f.means {
		s[atMeans+i] = f.means[i].windowMean(&f.recent)
	}
	for i := range f.medians {
		s[atMedians+i] = f.medians[i].middleValue()
	}
	for i := range nTrimmed {
		s[atTrimmed+i] = f.medians[nMedians-nTrimmed+i].trimmedMean()
	}
	copy(s[atSmooth:], f.smooth[:])
	s[atBestMean] = f.bestOf(atLast, atMedians)
	s[atBestMed] = f.bestOf(atMedians, atTrimmed)
	s[atRegress] = f.regress.meanAhead(1)
	s[atLevel] = f.level.mean
	s[atTrend] = f.trend.meanAhead(1)
	for i := range s {
		s[i] = max(s[i], 0) // rounding; and a line may fall below
	}
}

// bestOf is what the member among from to before end says that erred least of
// late.
func (f *family) bestOf(from, end int) float64 {
	best := from
	for i := from + 1; i < end; i++ {
		if f.errors[i] < f.errors[best] {
			best = i
		}
	}
	return f.said[best]
}

// forecastMean is what each member says of the mean of the next steps values. For most
// that is what it says of the next.
func (f *family) forecastMean(steps int, into *forecasts) {
	*into = f.said
	if steps > 1 {
		into[atRegress] = max(f.regress.meanAhead(steps), 0)
		into[atTrend] = max(f.trend.meanAhead(steps), 0)
	}
}
