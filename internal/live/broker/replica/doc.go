// Package replica knows where copies of files are: which content a file at a site had, who
// keeps it besides, for each user alone, and between which sites files cannot go without the
// broker in between. It is what was seen, kept as text in the store; what is forgotten of it
// costs time only. It must not know how files are moved, nor for which jobs.
package replica
