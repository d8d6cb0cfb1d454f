#!/usr/bin/env python3
"""Writes a synthetic trace in the Standard Workload Format to standard output.

    generate.py [JOBS [CORES [SEED]]] > small.swf

Jobs arrive at random, more by day than by night; their sizes are mostly powers of two,
their run times lognormal, and users ask for more time than they need, in round numbers.
Nothing in it comes from a real machine. small.swf is `generate.py 1000 64 1`.
"""
import math
import random
import sys

jobs, cores, seed = (int(a) for a in (sys.argv[1:] + ["1000", "64", "1"][len(sys.argv) - 1:]))
rng = random.Random(seed)
limits = [300, 900, 1800, 3600, 7200, 14400, 28800, 57600]  # seconds, as users ask for them
mean_gap = 900 * 64 / cores  # seconds between two jobs: about 75 % of the cores in use

print("; Version: 2.2")
print("; Computer: synthetic")
print(f"; Note: made by examples/traces/generate.py {jobs} {cores} {seed}; not of a real machine")
print(f"; MaxJobs: {jobs}")
print(f"; MaxProcs: {cores}")
print(f"; MaxNodes: {cores}")
print("; UnixStartTime: 0")

now = 0.0
for number in range(1, jobs + 1):
    day = 1 + 0.8 * math.sin(2 * math.pi * (now / 86400 - 0.25))  # fewest at midnight
    now += rng.expovariate(day / mean_gap)
    size = min(cores, 2 ** rng.choice([0, 0, 1, 2, 2, 3, 3, 4, 4, 5]))
    if rng.random() < 0.2:
        size = rng.randint(1, max(1, cores // 4))
    run = min(limits[-1], max(1, round(rng.lognormvariate(math.log(1800), 1.6))))
    asked = next(t for t in limits if t >= min(limits[-1], run * rng.uniform(1, 4)))
    user = rng.randint(1, 12)
    print(number, round(now), -1, run, size, -1, -1, size, asked, -1, 1, user, 1, -1, 1, 1, -1, -1)
