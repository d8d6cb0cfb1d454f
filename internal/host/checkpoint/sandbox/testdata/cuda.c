/*
 * Stands in for NVIDIA's libcuda.so.1 where there is no GPU. What it knows of a
 * process stands in the file PID in the folder $CUDA_PROCESSES: its state as
 * cuda.h numbers them. Every call that changes one adds a line to the file calls
 * there; a call whose name a file there has (fail-lock, fail-checkpoint,
 * fail-restore) fails for the process that is named in the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNNING, LOCKED, CHECKPOINTED };
enum { SUCCESS = 0, NOT_SUPPORTED = 801, ILLEGAL_STATE = 401, NO_PROCESS = 101 };

static FILE *open_file(const char *name, const char *mode)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", getenv("CUDA_PROCESSES"), name);
	return fopen(path, mode);
}

static int read_number(const char *name, int *number)
{
	FILE *f = open_file(name, "r");
	int n = f ? fscanf(f, "%d", number) : 0;
	if (f)
		fclose(f);
	return n == 1;
}

static int change(int pid, const char *call, int from, int to)
{
	char name[32], failing[32];
	int state, fails;
	FILE *f;
	snprintf(name, sizeof name, "%d", pid);
	snprintf(failing, sizeof failing, "fail-%s", call);
	if (!read_number(name, &state) || state != from)
		return ILLEGAL_STATE;
	f = open_file("calls", "a");
	fprintf(f, "%s\n", call);
	fclose(f);
	if (read_number(failing, &fails) && fails == pid)
		return NOT_SUPPORTED;
	f = open_file(name, "w");
	fprintf(f, "%d", to);
	fclose(f);
	return SUCCESS;
}

int cuCheckpointProcessGetState(int pid, int *state)
{
	char name[32];
	snprintf(name, sizeof name, "%d", pid);
	return read_number(name, state) ? SUCCESS : NO_PROCESS;
}

int cuCheckpointProcessLock(int pid, void *arguments) { (void)arguments; return change(pid, "lock", RUNNING, LOCKED); }
int cuCheckpointProcessCheckpoint(int pid, void *arguments) { (void)arguments; return change(pid, "checkpoint", LOCKED, CHECKPOINTED); }
int cuCheckpointProcessRestore(int pid, void *arguments) { (void)arguments; return change(pid, "restore", CHECKPOINTED, LOCKED); }
int cuCheckpointProcessUnlock(int pid, void *arguments) { (void)arguments; return change(pid, "unlock", LOCKED, RUNNING); }

int cuGetErrorName(int code, const char **name)
{
	*name = code == NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED" : "CUDA_ERROR_ILLEGAL_STATE";
	return SUCCESS;
}
