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

// add is told of a value and reports whether a forecast was judged.
func (h *horizon) add(x float64, p *Prior) bool {
	if !h.waiting {
		return false
	}
	h.sum += x
	h.came++
	if h.came < h.steps {
		return false
	}
	mean := h.sum / float64(h.steps)
	h.record.add(&h.said, mean)
	h.spread.add(mean - h.value)
	h.mix = h.record.mix(p)
	h.waiting = false
	return true
}

// ask makes the next forecast, if none waits.
func (h *horizon) ask(f *family) {
	if h.waiting {
		return
	}
	f.over(h.steps, &h.said)
	h.value = h.mix.of(&h.said)
	h.waiting, h.sum, h.came = true, 0, 0
}

// judged is how many errors a horizon takes to be believed.
const judged = 4

func (h *horizon) believed() bool { return h.spread.n >= judged }
