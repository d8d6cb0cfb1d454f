// Package archtest holds the architecture rules as tests: what the pure
// packages may use, who may import whom, and how packages are named,
// documented and sized. A broken rule fails with the file, the line, what
// stands there and why it may not. The package exports nothing; it reads the
// source of the module and must not be imported by it.
//
// Two things a rule needs from the code it checks:
//
//   - A pure package that ranges over a map says why the order does not
//     matter, on that line or the line above: // order-free: a sum.
//   - A package-level variable of a pure package is an error value, an
//     interface check (var _ I = T{}), or a table written as a literal that
//     nothing ever assigns to.
//
// Every rule is itself tested on small bad sources under testdata, where a
// comment // want `…` names the complaint expected on its line.
package archtest
