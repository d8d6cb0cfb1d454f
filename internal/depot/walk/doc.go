// Package walk lists what is in a folder on disk: what ignore files leave out, how
// large it may be, what every file looks like from outside, and the cache by which a
// file that still looks the same need not be read again.
package walk
