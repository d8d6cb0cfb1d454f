#!/usr/bin/env python3
"""pi.py STEPS: integrates 4/(1+x*x) from 0 to 1 by the midpoint rule and prints pi.

It knows nothing of Godwit: it has no deadline, reads no clock and cannot save itself.
"""
import sys

steps = int(sys.argv[1])
points = 20_000  # of one step
width = 1 / (steps * points)
total = 0.0
for step in range(steps):
    for i in range(step * points, (step + 1) * points):
        x = (i + 0.5) * width
        total += 4 / (1 + x * x)
    print(f"step {step + 1}/{steps}", flush=True)
print(f"pi = {total * width:.9f}")
