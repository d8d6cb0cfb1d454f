// Package probeplan decides which way between two hosts is measured next. Probes must
// not disturb: never are two under way on one link, and what they send over a
// link stays below a part of what it can carry. A link is that of a host, and
// that of a site to the others. Inside a small site all pairs of hosts are
// measured, in a large one the ways of all to one of them; between two sites,
// whose hosts share a link, one pair stands for all. What was not measured for
// longest, or is least certain, comes first; who cannot be reached is tried more
// and more rarely. The package must not know how anything is measured.
package probeplan
