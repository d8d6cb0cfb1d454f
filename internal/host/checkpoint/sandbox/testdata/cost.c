// Kinds of work whose cost in a sandbox differs, for measuring it: cost KIND AMOUNT
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t bar;
static long amount;
static volatile double sink;
static double compute(long n) {
	double x = 0;
	for (long i = 1; i < n; i++) x += 1.0 / (double)i;
	return x;
}
static void *syncing(void *a) {
	for (long i = 0; i < amount; i++) {
		sink = compute(20000);
		pthread_barrier_wait(&bar);
	}
	return a;
}
int main(int c, char **v) {
	char buf[4096] = {0};
	amount = c > 2 ? atol(v[2]) : 1;
	if (!strcmp(v[1], "compute")) {
		sink = compute(amount * 1000000);
	} else if (!strcmp(v[1], "memory")) {
		size_t n = 64 << 20;
		char *p = malloc(n);
		for (long i = 0; i < amount; i++) memset(p, (int)i, n);
		sink = p[n / 2];
	} else if (!strcmp(v[1], "syscall")) {
		for (long i = 0; i < amount * 1000; i++) syscall(SYS_getppid);
	} else if (!strcmp(v[1], "read")) {
		int f = open("data", O_RDWR | O_CREAT, 0644);
		if (write(f, buf, sizeof buf) < 0) return 1;
		for (long i = 0; i < amount * 1000; i++)
			if (pread(f, buf, sizeof buf, 0) < 0) return 1;
	} else if (!strcmp(v[1], "files")) {
		for (long i = 0; i < amount * 1000; i++) {
			int f = open("one", O_WRONLY | O_CREAT, 0644);
			close(f);
			unlink("one");
		}
	} else if (!strcmp(v[1], "fork")) {
		for (long i = 0; i < amount; i++) {
			pid_t p = fork();
			if (!p) _exit(0);
			waitpid(p, NULL, 0);
		}
	} else if (!strcmp(v[1], "threads")) {
		pthread_t t[2];
		pthread_barrier_init(&bar, NULL, 2);
		for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, syncing, NULL);
		for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
	} else if (!strcmp(v[1], "pipe")) {
		int p[2], q[2];
		if (pipe(p) || pipe(q)) return 1;
		if (!fork()) {
			for (long i = 0; i < amount * 1000; i++)
				if (read(p[0], buf, 1) != 1 || write(q[1], buf, 1) != 1) _exit(1);
			_exit(0);
		}
		for (long i = 0; i < amount * 1000; i++)
			if (write(p[1], buf, 1) != 1 || read(q[0], buf, 1) != 1) return 1;
	} else {
		return 2;
	}
	return 0;
}
