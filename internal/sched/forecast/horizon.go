package forecast

// horizons are the numbers of values whose mean the family is judged by.
var horizons = [...]int{1, 4, 16, 64}

const nHorizons = len(horizons)

// horizon is how well the mean of the next steps values is forecast. One
// forecast at a time waits for them: the next is made when they have come.
type horizon struct {
	steps  int
	record record
	mix    mix
	spread spread

	waiting bool
	said    forecasts // by the members
	value   float64   // the answer made of them
	sum     float64   // of the values that came since
	came    int
}

// addValue is told of a value and reports whether a forecast was judged.
func (h *horizon) addValue(x float64, p *Prior) bool {
	if !h.waiting {
		return false
	}
	h.sum += x
	h.came++
	if h.came < h.steps {
		return false
	}
	mean := h.sum / float64(h.steps)
	h.record.addForecasts(&h.said, mean)
	h.spread.addError(mean - h.value)
	h.mix = h.record.mixMembers(p)
	h.waiting = false
	return true
}

// makeForecast makes the next forecast, if none waits.
func (h *horizon) makeForecast(f *family) {
	if h.waiting {
		return
	}
	f.forecastMean(h.steps, &h.said)
	h.value = h.mix.combineForecasts(&h.said)
	h.waiting, h.sum, h.came = true, 0, 0
}

// judged is how many errors a horizon takes to be believed.
const judged = 4

func (h *horizon) isBelieved() bool { return h.spread.n >= judged }
