"""Does nothing but take time: as long as a program that scales as a table says, with the cores that it has.

    paced.py 2=20,4=16.7,8=13.3 [any|powers-of-two [PAUSE]]

For trying policies with real jobs on a machine that has fewer cores than they pretend to use. The table has
seconds by cores; between its points the logarithm of the time is interpolated over that of the cores, below the
first scaling is perfect, and above the last nothing is gained. Of what it is offered it takes all, or as much as
makes a power of two; a change of size stops it for PAUSE seconds. Its own start is part of the work. The simulator
has the same model (docs/scenarios.md). It needs godwit.py, the module of program/python, beside it or in PYTHONPATH.
"""
import math
import os
import sys
import time

import godwit

LOOK = 0.02  # seconds between two looks at what is offered


def read_table(text):
    points = (point.split("=") for point in text.split(","))
    return sorted((int(size), float(seconds)) for size, seconds in points)


def time_at(table, size):
    """Seconds that all of the work takes with so many cores."""
    first, last = table[0], table[-1]
    if size <= first[0]:
        return first[1] * first[0] / size
    for (low, slow), (high, fast) in zip(table, table[1:]):
        if size <= high:
            slope = math.log(fast / slow) / math.log(high / low)
            return slow * (size / low) ** slope
    return last[1]


def usable_size(accept, cores):
    return 1 << (cores.bit_length() - 1) if accept == "powers-of-two" else cores


def process_start():
    """When this process began, by the monotonic clock; now where the system does not say."""
    now = time.monotonic()
    try:
        with open("/proc/self/stat") as stat:
            ticks = int(stat.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return now
    return now - min(max(age, 0.0), 5.0)


class Work:
    """How much is done. It stands still until since, and goes on at its rate from then on."""

    def __init__(self, table, size):
        self.table, self.done = table, 0.0
        self.since, self.rate = process_start(), 1 / time_at(table, size)

    def done_at(self, now):
        return self.done + self.rate * max(0.0, now - self.since)

    def left_at(self, now):
        """Seconds until all is done, if nothing changes."""
        return max(0.0, self.since - now) + (1 - self.done_at(now)) / self.rate

    def set_size(self, now, size, pause):
        self.done = self.done_at(now)
        self.since = max(self.since, now + pause)
        self.rate = 1 / time_at(self.table, size)


def answer_offer(accept):
    """Takes what it can use of more, and always gives back what it has to."""
    offered = godwit.offered_size()
    if offered > godwit.size():
        godwit.accept_size(max(usable_size(accept, offered), godwit.size()))
    elif offered:
        godwit.accept_size(offered)


def run(table, accept, pause):
    size = usable_size(accept, max(godwit.size(), 1))
    work, returned, changes = Work(table, size), 0, 0
    while True:
        now = time.monotonic()
        left = work.left_at(now)
        if left <= 0:
            break
        godwit.set_steps(int(1000 * work.done_at(now)), 1000)
        answer_offer(accept)
        held = max(godwit.size(), 1)
        usable = usable_size(accept, held)
        if usable != size:
            size = usable
            work.set_size(now, size, pause)
            changes += 1
            print("cores:", size, flush=True)
        if usable < held != returned:  # of no use to it
            godwit.want_size(usable)
            returned = held
        time.sleep(min(LOOK, left))
    godwit.set_steps(1000, 1000)
    print("changes of size:", changes)


def main():
    args = sys.argv[1:]
    run(read_table(args[0]), args[1] if len(args) > 1 else "any", float(args[2]) if len(args) > 2 else 0.0)


if __name__ == "__main__":
    main()
