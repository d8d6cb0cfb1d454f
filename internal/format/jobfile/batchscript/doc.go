// Package batchscript is how scripts for batch systems are written: which of their lines
// are for the batch system, and how Slurm, Grid Engine and PSI/J write words, times,
// moments and lists of variables. It must not know what a job is.
package batchscript
