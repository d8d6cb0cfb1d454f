#!/usr/bin/env python3
"""Tracks the orders of an engine through a recording of its vibration, in pure
Python: a program that waits for its disk about as long as it computes.

    orders.py RECORDS

For each record it writes the samples as they come from the sensor, block by
block, each safe on disk before the next, reads them back, and appends how strong
the tracked orders are in them, again safe on disk before it goes on. It prints
`record i/n` and, at the end, the mean strength of each order. The output depends
on RECORDS alone. It knows nothing of Godwit.
"""
import math
import os
import struct
import sys

BLOCKS, SAMPLES = 12, 256  # of a record, and in a block
ORDERS = (1, 2, 4, 11)


def samples(number, block):
    """What the sensor gives: the orders, and noise made from the numbers alone."""
    x = (number * BLOCKS + block) * 2654435761 % 2**32 or 1
    speed = 0.01 + 0.004 * math.sin(number / 50)
    out = []
    for i in range(SAMPLES):
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        t = block * SAMPLES + i
        out.append(sum(math.sin(2 * math.pi * speed * k * t) / k for k in ORDERS) + x / 2**32)
    return out, speed


def safe(f, data):
    """Writes data and waits until the disk has it."""
    f.write(data)
    f.flush()
    os.fsync(f.fileno())


def strength(values, frequency):
    """How strong a frequency is in the values (Goertzel)."""
    c = 2 * math.cos(2 * math.pi * frequency)
    a = b = 0.0
    for v in values:
        a, b = v + c * a - b, a
    return math.sqrt(max(a * a + b * b - c * a * b, 0)) * 2 / len(values)


def track(number):
    """Records once and says how strong the orders are."""
    with open("recording.tmp", "wb") as f:
        for block in range(BLOCKS):
            values, speed = samples(number, block)
            safe(f, struct.pack(f"{SAMPLES}d", *values))
    with open("recording.tmp", "rb") as f:
        values = struct.unpack(f"{BLOCKS * SAMPLES}d", f.read())
    return [strength(values, speed * k) for k in ORDERS]


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit() or sys.argv[1] == "0":
        sys.exit("usage: orders.py RECORDS")
    want = int(sys.argv[1])
    each = max(1, want // 100)
    sums = [0.0] * len(ORDERS)
    with open("orders.txt", "wb") as log:
        for i in range(1, want + 1):
            found = track(i)
            sums = [a + b for a, b in zip(sums, found)]
            safe(log, (" ".join(f"{v:.6f}" for v in found) + "\n").encode())
            if i % each == 0 or i == want:
                print(f"record {i}/{want}", flush=True)
    os.remove("recording.tmp")
    for k, s in zip(ORDERS, sums):
        print(f"order {k}: {s / want:.6f}")


if __name__ == "__main__":
    main()
