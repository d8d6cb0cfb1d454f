package workload

import "math/rand/v2"

// Random numbers come in streams, one for each question, so that a change to
// what one question draws (more kinds, other sizes) leaves the answers to all
// the others as they were.
const (
	arrivalStream uint64 = iota + 1
	programStream
	kindStream
	scaleStream
	estimateStream
	deadlineStream
	malleableStream
	parallelismStream
	variationStream
)

func randomStream(seed, which uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, which))
}

// HashFraction is a number in [0, 1) that depends on the seed, the stream and the
// key only: the answer for one key is the same whatever other keys are asked.
func HashFraction(seed, which, key uint64) float64 {
	h := ScrambleBits(ScrambleBits(ScrambleBits(seed)+which) + key)
	return float64(h>>11) / (1 << 53)
}

// ScrambleBits is the finisher of SplitMix64 (Steele, Lea, Flood: "Fast splittable
// pseudorandom number generators", 2014).
func ScrambleBits(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
