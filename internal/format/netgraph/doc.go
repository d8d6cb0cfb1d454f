// Package netgraph reads the files of node selection: networks with the
// bandwidth of their links (JSON, or a CSV matrix of hosts) and communication
// patterns (JSON). It decides what a valid file is and says in one line what is
// wrong with another; what is done with a network it must not know.
package netgraph
