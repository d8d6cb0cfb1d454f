# Random numbers, a thread, sqlite in the work folder, a temporary file, output
# through a buffer. The last step is taken only when there is a file "go".
import hashlib, os, random, sqlite3, sys, tempfile, threading, time

random.seed(1)
db = sqlite3.connect("stats.db")
db.execute("create table t(i int, h text)")
out = open("stats.out", "w", buffering=1 << 20)
tmp = tempfile.TemporaryFile()
box = []


def wait():
    while not box:
        time.sleep(0.02)


th = threading.Thread(target=wait)
th.start()
h = hashlib.sha256()
steps = int(sys.argv[1])
for i in range(steps):
    while i == steps - 1 and not os.path.exists("go"):
        time.sleep(0.01)
    for _ in range(3000):
        h.update(b"%d" % random.getrandbits(64))
    db.execute("insert into t values(?,?)", (i, h.hexdigest()))
    tmp.write(h.digest())
    out.write("%d %s\n" % (i, h.hexdigest()))
    print("step", i, flush=True)
    time.sleep(0.01)
    if i % 10 == 0:
        db.commit()
db.commit()
box.append(1)
th.join()
tmp.seek(0)
print("final", h.hexdigest(), len(tmp.read()), db.execute("select count(*) from t").fetchone(), os.getcwd())
out.close()
sys.exit(9)
