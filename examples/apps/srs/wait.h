/* is_stopped waits for the file that an argument names, if there is one, so that a test can stop the program
 * before it ends; it returns whether somebody has. */
static int is_stopped(int argc, char **argv, int i)
{
	for (;;) {
		int there = argc <= i || (rank == 0 && access(argv[i], F_OK) == 0);
		MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
		if (there || SRS_Check_Stop())
			return !there;
		usleep(10000);
	}
}

