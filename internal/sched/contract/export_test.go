package contract

var findingNames = [...]string{Kept: "kept", Violated: "violated", Lowered: "lowered"}

func (f Finding) String() string { return findingNames[f] }
