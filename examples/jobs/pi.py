#!/usr/bin/env python3
"""Computes digits of pi with the spigot of Rabinowitz and Wagon, in pure Python.

    pi.py DIGITS

Prints `step i/n` while it works and the digits at the end. It knows nothing of
Godwit: it cannot save itself, has no deadline and reads no clock. The time grows
with the square of the digits.
"""
import sys


def spigot(digits):
    """Yields the digits of pi, 3 first, each when it is certain."""
    size = 10 * digits // 3 + 2
    rest = [2] * size
    held, nines = None, 0
    for _ in range(digits + 2):
        carry = 0
        for i in range(size - 1, 0, -1):
            x = 10 * rest[i] + carry * (i + 1)
            carry, rest[i] = divmod(x, 2 * i + 1)
        q, rest[0] = divmod(10 * rest[0] + carry, 10)
        if q == 9:  # may still become 0 with a carry
            nines += 1
        elif q == 10:
            yield held + 1
            yield from [0] * nines
            held, nines = 0, 0
        else:
            if held is not None:
                yield held
            yield from [9] * nines
            held, nines = q, 0


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit() or sys.argv[1] == "0":
        sys.exit("usage: pi.py DIGITS")
    want = int(sys.argv[1])
    each = max(1, want // 100)
    found = []
    for digit in spigot(want + 20):
        found.append(digit)
        if len(found) % each == 0 and len(found) <= want:
            print(f"step {len(found)}/{want}", flush=True)
        if len(found) > want:
            break
    print("".join(map(str, found[:1])) + "." + "".join(map(str, found[1:])))


if __name__ == "__main__":
    main()
