/* A rank of Open MPI that waits for a message asks for it again and again. Told to
 * yield when idle it calls sched_yield in between, which on a processor of its own
 * returns at once: where a host's processor time is limited, waiting uses it up, and
 * nothing is left for the rank that all others wait for. With this library loaded
 * before all others, who yields often without doing anything in between sleeps
 * instead, the longer it has waited the longer.
 *
 * It uses nothing but system calls, so that it fits every libc of its machine's kind. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    EAGER = 20,           /* yields that are just that */
    PATIENT = 1000,       /* yields after which nobody is in a hurry */
    WORKED = 60 * 1000,   /* ns since the last one: a message came, and it did something. Asking
                             for one takes a few; with 300, ranks that compute less between
                             their messages never got out of the long pauses. */
    SHORT = 60 * 1000,    /* ns */
    LONG = 1000 * 1000    /* ns */
};

static __thread long streak __attribute__((tls_model("initial-exec")));
static __thread long last __attribute__((tls_model("initial-exec")));

static long call(long number, long a, long b)
{
#if defined(__x86_64__)
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "0"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return r;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
    return x0;
#else
#error "no system calls for this kind of machine yet"
#endif
}

static long now(void)
{
    struct timespec t = {0, 0};
    call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

EXPORT int sched_yield(void)
{
    long t = now();
    streak = t - last > WORKED ? 0 : streak + 1;
    if (streak < EAGER) {
        call(SYS_sched_yield, 0, 0);
        last = t;
        return 0;
    }
    struct timespec pause = {0, streak < PATIENT ? SHORT : LONG};
    call(SYS_nanosleep, (long)&pause, 0);
    last = now();
    return 0;
}
