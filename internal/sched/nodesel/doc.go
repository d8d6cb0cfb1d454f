// Package nodesel chooses hosts for a program by who talks to whom in it: of
// all ways to put the m nodes of a communication pattern on m hosts it finds
// one whose slowest communicating pair is as fast as possible (papers/002,
// section 2.4), and proves that nothing is faster.
//
// The value of a choice is the minimum, over the edges of the pattern, of the
// pair's bandwidth divided by the edge's weight. Whether a value λ can be had
// is a question about a graph: does the pattern fit into the pairs that reach
// λ? The answer is monotone in λ, so Select halves the list of possible values
// and asks package match. When the caller's budget ends first there is still a
// choice, and a bound that no choice can exceed.
//
// The package reads no file and no clock: the caller gives a network and a
// function that says when to stop. Equal input gives equal results.
package nodesel
