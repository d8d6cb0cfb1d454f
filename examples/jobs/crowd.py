"""Counts primes with as many processes as the job has cores, and changes their number while it runs.

    crowd.py BLOCKS [SIZE [FILE]]

Each block is SIZE numbers; it does not end before there is a FILE. A process that is one too many ends after the block that it works on; no
block is lost or counted twice. Without Godwit there is one process. It needs godwit.py, the module of
program/python, beside it or in PYTHONPATH.
"""
import multiprocessing
import os
import queue
import sys

import godwit


def primes_in(first, last):
    return sum(all(n % d for d in range(2, int(n ** 0.5) + 1)) for n in range(max(first, 2), last))


def work(block_size, blocks, results, leave):
    """Takes blocks until there are no more, or it is one process too many."""
    while not leave.is_set():
        try:
            block = blocks.get(timeout=0.1)
        except queue.Empty:  # perhaps it is to leave
            continue
        if block is None:
            break
        results.put((block, primes_in(block * block_size, (block + 1) * block_size)))
    results.put((None, os.getpid()))


def main():
    count = int(sys.argv[1])
    block_size = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    until = sys.argv[3] if len(sys.argv) > 3 else None
    blocks, results = multiprocessing.Queue(), multiprocessing.Queue()
    for block in range(count):
        blocks.put(block)
    workers, found, most = {}, {}, 0  # by process number: the process, and how it is told to leave

    def resize(size):
        staying = [w for w in workers.values() if not w[1].is_set()]
        for worker in staying[size:]:
            worker[1].set()
        for _ in range(size - len(staying)):
            leave = multiprocessing.Event()
            process = multiprocessing.Process(target=work, args=(block_size, blocks, results, leave), daemon=True)
            process.start()
            workers[process.pid] = (process, leave)
        print("processes:", size, flush=True)

    def collect(until):
        """Takes results until something holds."""
        while not until():
            try:
                block, value = results.get(timeout=0.05)
            except queue.Empty:
                return
            if block is None:
                workers.pop(value)[0].join()
            else:
                found[block] = value
                godwit.set_steps(len(found), count)

    def running():
        return len(workers)

    size = max(godwit.size(), 1)
    resize(size)
    while len(found) < count or (until and not os.path.exists(until)):
        offered = godwit.offered_size()
        if offered and offered < size:
            resize(offered)
            while running() > offered:  # they have left before that is said
                collect(lambda: running() <= offered)
            size = offered
        if offered:
            godwit.accept_size(offered)
        if godwit.size() > size:
            size = godwit.size()
            resize(size)
        most = max(most, size)
        collect(lambda: godwit.offered_size() or godwit.size() > size or len(found) == count and not until)
    for _ in workers:
        blocks.put(None)
    while workers:
        collect(lambda: not workers)
    print("primes:", sum(found.values()), "most processes:", most)


if __name__ == "__main__":
    main()
