// Package skeleton makes short programs out of captured ones and runs them. It decides
// which rounds of a program's loops a skeleton leaves out, so that it takes as long as
// is wanted and no message is without its receiver; how long the program itself would
// take where its skeleton took so long; and which group of hosts is the best for it.
// It must not know how patterns are captured or hosts chosen.
package skeleton
