"""Computes and waits by turns: mixed.py ROUNDS WORK"""
import sys
import time

rounds, work = int(sys.argv[1]), int(sys.argv[2])
x = 1
for i in range(rounds):
    for _ in range(work):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
    time.sleep(0.15)
print(x)
