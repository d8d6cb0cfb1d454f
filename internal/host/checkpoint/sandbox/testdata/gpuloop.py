# gpuloop.py STEPS: two processes compute on a GPU as the stand-in for NVIDIA's driver
# knows them; one writes a line a step. A step waits while the process is not on the
# GPU. The last step is taken only when there is a file "go".
import os, sys, time

steps = int(sys.argv[1])
folder = os.environ["CUDA_PROCESSES"]
child = os.fork()
me = os.path.join(folder, str(os.getpid()))
with open(me, "w") as f:
    f.write("0")
for step in range(steps):
    while open(me).read() != "0" or step == steps - 1 and not os.path.exists("go"):
        time.sleep(0.005)
    if child:
        print("step", step, flush=True)
    time.sleep(0.01)
if child:
    _, status = os.wait()
    sys.exit(3 if status == 0 else 1)
