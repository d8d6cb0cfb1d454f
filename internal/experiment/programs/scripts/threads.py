"""Compresses in two threads: threads.py BLOCKS"""
import sys
import threading
import zlib

blocks = int(sys.argv[1])
text = b"".join(b"%d " % (i * 2654435761 % 4294967296) for i in range(60000))
sums = [0, 0]


def compress(which):
    for i in range(blocks):
        sums[which] += len(zlib.compress(text, 6))


threads = [threading.Thread(target=compress, args=(i,)) for i in (0, 1)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sums)
