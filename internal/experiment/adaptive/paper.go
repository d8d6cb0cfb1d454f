package adaptive

// figures are what papers/004 measured of one program, in seconds.
type figures struct {
	name           string
	t100           float64
	alone, sd      float64 // completion alone; 0 if not told
	deadline, with float64
	without        string
	met            bool
}

// paperFigures is sections 5.3 and 5.5 with table 5.1. The jobs of the White Rose Grid
// began on Pascali.
func paperFigures() []figures {
	return []figures{
		{name: "job of the test-bed", t100: 4380, alone: 4469, deadline: 4867, with: 74 * 60, without: "7500", met: true},
		{name: "π", t100: 486.66, alone: 487.93, sd: 2.01, deadline: 503.8, with: 523.72, without: "“far greater”",
			met: false},
		{name: "XTO", t100: 655.22, alone: 659.92, sd: 1.16, deadline: 683.6, with: 586.66, without: "almost 2000",
			met: true},
	}
}

// The paper's overhead: the normalised times with the service lie within this
// part of their mean with 95 % confidence.
const paperNoise = 0.04

// What spec 20 asks of the service.
const (
	mostWatching = 0.001 // of a processor, at the default interval
	mostError    = 0.10  // median error of the remaining time from one third of the run on
	leastHold    = 0.87  // part of the 90 % bands that holds,
	mostHold     = 0.93  // and that may hold,
	leastRuns    = 200   // in so many runs
)
