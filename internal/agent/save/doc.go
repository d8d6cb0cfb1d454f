// Package save makes one checkpoint of a program: it has the program frozen, notes how far
// its output and its work are, takes a snapshot of its folder and brings both to the depot.
// It must not know when a program is to be saved, nor what becomes of it then.
package save
