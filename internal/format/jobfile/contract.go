package jobfile

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/contract"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Bounds of what a contract may say.
const (
	leastLowerLimit = 0.01
	mostUpperLimit  = 1000
	mostConsecutive = 1000
)

// readContract reads the section, or the word auto for a contract with the usual limits.
func (d *Draft) readContract(v yamlfile.Value) {
	d.Contract = &core.Contract{}
	if v.Kind() == yamlfile.Scalar {
		v.OneOf("auto")
		return
	}
	c := d.Contract
	d.readMapping(v, "contract.", []field{
		{"rule", func(v yamlfile.Value) { c.Rule = v.OneOf(contract.RuleNames()...) }},
		{"lower", func(v yamlfile.Value) { c.Lower = v.Number(leastLowerLimit, 1) }},
		{"upper", func(v yamlfile.Value) { c.Upper = v.Number(1, mostUpperLimit) }},
		{"consecutive", func(v yamlfile.Value) { c.Consecutive = v.WholeNumber(1, mostConsecutive) }},
	})
}

// checkContract refuses contracts that cannot be watched.
func (d *Draft) checkContract() error {
	c := d.Contract
	switch {
	case c == nil:
	case len(d.Components) > 0:
		return d.fieldError("contract", "", "nothing where there are components: a contract is about one place")
	case d.Kind == core.Malleable:
		return d.fieldError("contract", "", "nothing where kind is malleable: what is promised is about one size")
	case c.Consecutive > 0 && c.Rule != contract.RuleConsecutive:
		return d.fieldError("contract.consecutive", fmt.Sprint(c.Consecutive), "nothing without rule: consecutive")
	case c.Lower == 1 && c.Upper == 1:
		return d.fieldError("contract.upper", "1", "a number above contract.lower")
	}
	return nil
}
