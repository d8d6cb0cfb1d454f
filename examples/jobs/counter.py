#!/usr/bin/env python3
"""Counts to N and saves itself when it gets SIGUSR1: an example of a program with
a checkpoint of its own.

    counter.py N

It writes counter.state and leaves with code 0 when signalled; with such a file it
goes on where it left.
"""
import os
import signal
import sys

told = False


def on_signal(*_):
    global told
    told = True


def main():
    signal.signal(signal.SIGUSR1, on_signal)
    last = int(sys.argv[1])
    i = total = 0
    if os.path.exists("counter.state"):
        with open("counter.state") as f:
            i, total = map(int, f.read().split())
    while i < last:
        if told:
            with open("counter.state.new", "w") as f:
                f.write(f"{i} {total}\n")
            os.replace("counter.state.new", "counter.state")
            return
        for k in range(100_000):
            total = (total * 31 + i + k) % 1_000_000_007
        i += 1
        if i % 10 == 0:
            print(f"step {i}/{last}", flush=True)
    print(total)
    if os.path.exists("counter.state"):
        os.remove("counter.state")


main()
