package forecast

const (
	// experience is how many values what is known of other series of a kind
	// counts as.
	experience = 80
	// fading is after how many values of the series itself it counts half.
	fading = 100
)

// Prior is what is known about a series before its first value: by how much
// each member of the family errs more than the best one, as a part of the
// error of the best, in series of the same kind. The zero Prior knows nothing.
// It does not change and may be copied.
type Prior struct {
	excess [nMembers]float64
	known  bool
}
