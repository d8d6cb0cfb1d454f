/*
 * godwit-cuda save MILLISECONDS | restore
 *
 * Runs beside the program in its sandbox. save takes what each CUDA process has in
 * GPUs into the memory of that process, where the sandbox can save it, and leaves
 * the GPUs free; restore puts it back and lets the processes run on. NVIDIA's
 * driver does both (cuCheckpointProcess..., from 570 on), so its library is loaded
 * when it is needed: where there is none, nothing here needs one.
 *
 * Either all processes are saved or none: if one cannot be, those before it are
 * restored. A line on standard error says what failed; exit code 0 is success.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PROCESSES 4096

/* As in cuda.h; CUcheckpointLockArgs has room for what later drivers add. */
enum { RUNNING, LOCKED, CHECKPOINTED, FAILED };
struct lock_arguments {
	unsigned timeout_ms, reserved0;
	unsigned long long reserved[7];
};

static int (*get_state)(int, int *), (*lock_process)(int, void *), (*checkpoint_process)(int, void *),
	(*restore_process)(int, void *), (*unlock_process)(int, void *), (*error_name)(int, const char **);

static int load_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver)
		driver = dlopen("/usr/local/nvidia/lib64/libcuda.so.1", RTLD_NOW);
	if (!driver) {
		fprintf(stderr, "the library of the NVIDIA driver cannot be loaded: %s\n", dlerror());
		return 0;
	}
	*(void **)&get_state = dlsym(driver, "cuCheckpointProcessGetState");
	*(void **)&lock_process = dlsym(driver, "cuCheckpointProcessLock");
	*(void **)&checkpoint_process = dlsym(driver, "cuCheckpointProcessCheckpoint");
	*(void **)&restore_process = dlsym(driver, "cuCheckpointProcessRestore");
	*(void **)&unlock_process = dlsym(driver, "cuCheckpointProcessUnlock");
	*(void **)&error_name = dlsym(driver, "cuGetErrorName");
	if (get_state && lock_process && checkpoint_process && restore_process && unlock_process)
		return 1;
	fprintf(stderr, "the NVIDIA driver cannot save programs: it has to be version 570 or newer\n");
	return 0;
}

/* complain says what the driver refused. */
static void complain(int pid, const char *what, int code)
{
	const char *name = NULL;
	if (!error_name || error_name(code, &name) || !name)
		name = "an unknown error";
	fprintf(stderr, "process %d: the NVIDIA driver could not %s: %s (%d)\n", pid, what, name, code);
}

/* find_processes fills pids with the CUDA processes that there are and returns their number. */
static int find_processes(int *pids, int *states)
{
	int n = 0;
	struct dirent *e;
	DIR *proc = opendir("/proc");
	if (!proc)
		return 0;
	while ((e = readdir(proc)) && n < MAX_PROCESSES) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		int pid = atoi(e->d_name);
		if (pid != getpid() && get_state(pid, &states[n]) == 0)
			pids[n++] = pid;
	}
	closedir(proc);
	return n;
}

/* restore puts a process back to where it runs, from wherever a save has left it. */
static int restore(int pid, int state)
{
	int code;
	if (state == CHECKPOINTED && (code = restore_process(pid, NULL))) {
		complain(pid, "restore it", code);
		return 0;
	}
	if ((state == CHECKPOINTED || state == LOCKED) && (code = unlock_process(pid, NULL))) {
		complain(pid, "unlock it", code);
		return 0;
	}
	return 1;
}

/* save leaves the process as it was if it cannot be saved. */
static int save(int pid, int state, unsigned timeout_ms)
{
	struct lock_arguments lock = {.timeout_ms = timeout_ms};
	int code;
	if (state == CHECKPOINTED)
		return 1;
	if (state == RUNNING && (code = lock_process(pid, &lock))) {
		complain(pid, "stop it", code);
		return 0;
	}
	if ((code = checkpoint_process(pid, NULL))) {
		complain(pid, "save it", code);
		restore(pid, LOCKED);
		return 0;
	}
	return 1;
}

static int save_all(const int *pids, const int *states, int n, unsigned timeout_ms)
{
	for (int i = 0; i < n; i++) {
		if (save(pids[i], states[i], timeout_ms))
			continue;
		while (i-- > 0)
			restore(pids[i], CHECKPOINTED);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static int pids[MAX_PROCESSES], states[MAX_PROCESSES + 1];
	int is_save = argc == 3 && !strcmp(argv[1], "save");
	if (!is_save && !(argc == 2 && !strcmp(argv[1], "restore"))) {
		fprintf(stderr, "usage: godwit-cuda save MILLISECONDS | restore\n");
		return 2;
	}
	if (!load_driver())
		return 1;
	int n = find_processes(pids, states), failed = 0;
	if (is_save)
		return save_all(pids, states, n, (unsigned)atoi(argv[2]));
	for (int i = 0; i < n; i++)
		failed |= !restore(pids[i], states[i]);
	return failed;
}
