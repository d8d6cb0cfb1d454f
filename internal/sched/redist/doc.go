// Package redist plans how the elements of an array move when it is divided anew: from N
// processes to M, from one layout to another (papers/000 section 5). It decides which
// process sends which bytes to which other, and how long that takes over shared links. It
// must not know what the array means, nor how its bytes travel.
//
// # Axes
//
// Every layout divides one or two axes of an array, each by itself: the slow one, along
// which neighbours lie farthest apart in memory, and the fast one, which is all that is left
// where an array is divided along one dimension only. An axis is cut where either the old or the new owner
// changes. What process p sends to process q is the product of the pieces of both axes that
// p had and q gets, and is kept as that product: the work is proportional to the pieces of
// the axes, never to their product, nor to elements.
package redist
