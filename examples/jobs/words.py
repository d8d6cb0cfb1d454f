#!/usr/bin/env python3
"""Counts words in a text that is larger than it likes to keep in memory.

    words.py MEGABYTES [PASSES]

First writes the text, the same one every time, then reads it PASSES times (10)
and keeps the counts of each pass in a file that is safe on disk before the next
begins. Most of its time goes into reading and writing: the processor waits. It
prints `pass i/n` and, at the end, the ten most frequent words.
"""
import collections
import os
import sys

BLOCK = 1 << 20
SYLLABLES = "ka lo mi ne pu ra si to vu ze".split()


def block(number):
    """A megabyte of words, made from its number alone."""
    x, line, size = number * 2654435761 % 2**32 or 1, [], 0
    while size < 1 << 12:
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        line.append(SYLLABLES[x % 10] + SYLLABLES[x // 10 % 10])
        size += 5
    words = " ".join(line) + "\n"
    return (words * (BLOCK // len(words) + 1))[:BLOCK].encode()


def write(path, megabytes):
    with open(path, "wb") as f:
        for i in range(megabytes):
            f.write(block(i))
            f.flush()
            os.fsync(f.fileno())


def read(path):
    counts = collections.Counter()
    rest = b""
    with open(path, "rb", buffering=0) as f:
        if hasattr(os, "posix_fadvise"):  # from the disk each time, as a text larger than memory would be
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while data := f.read(BLOCK):
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            # A line comes often: count it once.
            for line, times in collections.Counter(lines).items():
                for word in line.split():
                    counts[word.decode()] += times
    counts.update(rest.decode().split())
    return counts


def save(path, counts):
    with open(path + ".new", "w") as f:
        for word, n in sorted(counts.items()):
            f.write(f"{word} {n}\n")
            f.flush()
            os.fsync(f.fileno())
    os.replace(path + ".new", path)


def main():
    if len(sys.argv) not in (2, 3) or not all(a.isdigit() for a in sys.argv[1:]):
        sys.exit("usage: words.py MEGABYTES [PASSES]")
    megabytes, passes = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 10
    write("text.tmp", megabytes)
    counts = collections.Counter()
    for i in range(1, passes + 1):
        counts.update(read("text.tmp"))
        save("counts.txt", counts)
        print(f"pass {i}/{passes}", flush=True)
    os.remove("text.tmp")
    for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:10]:
        print(f"{n:9d} {word}")


if __name__ == "__main__":
    main()
