package core

// ApartSentence says why a job that is one parallel program cannot run on two clusters together, and what can be
// done about it.
func ApartSentence(one, other string) string {
	return "it is one MPI program (mpi: true), and hosts of " + one + " and " + other +
		" cannot reach each other, or by the settings are not to: " +
		"place its parts on clusters whose hosts do, or all of it on one cluster"
}
