// Package sockets finds out how much the processes of a command say to each other, and
// to other hosts, over TCP: while the command runs it looks again and again whose
// sockets are whose, and asks the kernel what each has sent and received. It decides
// which process a connection counts for. It must not know what the answer is used for.
package sockets
