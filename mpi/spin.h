/* Work for a processor and nothing else: what stands for the computing of a captured
 * program when its skeleton runs. Capture measures how much of it a second of the
 * processor's time is; so that a skeleton does as much work as the program did, and
 * takes longer where the processor is slower or has other things to do. */
#ifndef GODWIT_SPIN_H
#define GODWIT_SPIN_H

#include <stdint.h>
#include <time.h>

static inline double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline uint64_t spin(uint64_t turns)
{
    uint64_t x = turns | 1;
    for (uint64_t i = 0; i < turns; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

/* Turns of spin in a second of processor time: the best of some short tries, as others
 * may disturb one. */
static inline double spin_rate(void)
{
    double best = 0;
    for (int i = 0; i < 4; i++) {
        const uint64_t turns = 400 * 1000;
        double from = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        spin(turns);
        double took = seconds_of(CLOCK_THREAD_CPUTIME_ID) - from;
        if (took > 0 && (double)turns / took > best)
            best = (double)turns / took;
    }
    return best;
}

#endif
