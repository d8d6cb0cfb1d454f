package core

// Outlook is how a job whose deadline is in danger is expected to end: here and
// wherever else it could go. Times are quantiles, in seconds from now, at the
// levels that package predict gives.
type Outlook struct {
	Confidence float64       `json:"confidence"` // the chance of meeting the deadline that its user wants
	Stay       []float64     `json:"stay"`
	Moves      []Alternative `json:"moves,omitempty"`
}

// Alternative is another place for a job that runs.
type Alternative struct {
	Cluster  ClusterID `json:"cluster"`
	Left     []float64 `json:"left"`          // saving, moving and starting again included
	Overhead float64   `json:"overhead"`      // seconds of these alone, as expected
	Cost     MoveCost  `json:"cost,omitzero"` // the same by its parts
}
