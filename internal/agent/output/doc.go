// Package output brings what a program writes to the broker: it reads the program's pipes,
// keeps the bytes on disk until the broker has acknowledged them, numbers the messages of
// an attempt in the order in which they are to arrive, and finds the progress that a program
// tells. It must not know what the messages say, nor when an attempt begins and ends.
package output
