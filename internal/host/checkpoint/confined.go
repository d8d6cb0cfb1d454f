package checkpoint

// Confined is a Run whose program cannot do all that it could without the method.
type Confined interface {
	// DeniedCalls is what the program has tried in vain until now, and would not have
	// without the method; once Done is closed also what is gone with it. Each is named
	// once, the first first.
	DeniedCalls() []Denial
}

// Denial is one thing that a program could not do, or that did not stay.
type Denial struct {
	Kind DenialKind
	Name string // an address, or a file
}

// DenialKind says what was tried.
type DenialKind string

// What a program may have tried, or left.
const (
	DeniedConnect DenialKind = "connect" // to talk to Name
	DeniedWrite   DenialKind = "write"   // to change the file Name
	DeniedRead    DenialKind = "read"    // to read the file Name, which the host has
	DeniedKeep    DenialKind = "keep"    // the file Name was made and is gone
)
