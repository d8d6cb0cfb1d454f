// Package match decides whether a communication pattern fits into a graph, and how: which vertex each of its
// nodes gets, so that nodes that communicate are joined. It has a portfolio of matchers: structure that rules the
// pattern out at once (cores, components, blocks, degrees, flows, cuts), and exact searches for cliques, cycles
// and patterns in general.
//
// It knows neither why it is asked nor what else is: nodesel makes the graph of the pairs of hosts that reach a
// value (ThresholdTarget), asks whether the pattern fits into it (FindPlacement) or whether a choice that nearly
// fits can be repaired (RepairPlacement), and says how much effort that may take. What is worth keeping from one
// question to the next is in the Shape of the pattern and in RefutedPairs.
//
// The package reads no file and no clock. Equal input gives equal results.
package match
