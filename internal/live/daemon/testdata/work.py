"""Hashes in one thread, waits in another; writes to a database, to a file that has no name any more, and to stdout."""
import hashlib
import os
import sqlite3
import sys
import tempfile
import threading
import time

rounds = int(sys.argv[1])
db = sqlite3.connect("work.db")
db.execute("create table if not exists t(i integer, h text)")
nameless = tempfile.TemporaryFile(dir=".")
finished = threading.Event()
waiter = threading.Thread(target=finished.wait)
waiter.start()
h = hashlib.sha256()
for i in range(rounds):
    for k in range(60000):
        h.update(b"%d %d" % (i, k))
    db.execute("insert into t values(?, ?)", (i, h.hexdigest()))
    if i % 7 == 0:
        db.commit()
    nameless.write(h.digest())
    print(i, h.hexdigest(), flush=True)
db.commit()
finished.set()
waiter.join()
nameless.seek(0)
print("end", hashlib.sha256(nameless.read()).hexdigest(), db.execute("select count(*) from t").fetchone()[0])
with open("work.out", "w") as f:
    for row in db.execute("select * from t order by i"):
        print(*row, file=f)
db.close()
os.remove("work.db")
sys.exit(4)
