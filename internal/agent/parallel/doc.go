// Package parallel is what an attempt of several processes needs beside its agent: the
// hosts that it was given, the variables by which mpirun and the launchers of batch
// systems find them, and the launcher and rank runner that start ranks on other hosts
// and end them with the attempt.
package parallel
