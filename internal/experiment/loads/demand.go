package loads

import "math"

// mostUse is the largest use of a processor by others that real programs are to
// bring about: one more of them is needed the nearer it comes to all of it.
const mostUse = 0.875

// ProgramDemands are what each of several programs has to take of a processor, interval by
// interval, so that a program beside them gets the share that the load says where
// the processor is shared evenly. 1: as much as it can get.
func (k *Kind) ProgramDemands(l Load, intervals int) [][]float64 {
	shares := make([]float64, intervals)
	least := 1.0
	for i := range shares {
		shares[i] = l()
		least = min(least, shares[i])
	}
	least = max(least, 1-mostUse)
	n := 1 + int(math.Ceil((1-least)/least-1e-9)) // one more than just enough: nobody is to be kept waiting
	if k.Programs {
		n = competitorsFor(least)
	}
	list := make([][]float64, n)
	for p := range list {
		list[p] = make([]float64, intervals)
		for i, share := range shares {
			switch {
			case !k.Programs:
				list[p][i] = min(1-share, mostUse) / float64(n)
			case p < competitorsFor(share):
				list[p][i] = 1
			}
		}
	}
	return list
}

// competitorsFor is how many programs leave such a share to one beside them.
func competitorsFor(share float64) int { return int(math.Round((1 - share) / share)) }
