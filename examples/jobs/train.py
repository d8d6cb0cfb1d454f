#!/usr/bin/env python3
"""Trains a small network on one GPU and writes what its weights sum up to.

The same seed gives the same weights to the last bit, also when the program was moved
between hosts on its way. Usage: train.py [STEPS [GIGABYTES]]; GIGABYTES of further data
lie on the GPU meanwhile, to see what it costs to move them.
"""
import hashlib
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
gigabytes = float(sys.argv[2]) if len(sys.argv) > 2 else 0
torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
gpu = torch.device("cuda")
ballast = torch.arange(int(gigabytes * 2**27), device=gpu, dtype=torch.float64)
net = torch.nn.Sequential(
    torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)
).to(gpu)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
data = torch.randn(8192, 512, device=gpu)
labels = torch.randint(0, 10, (8192,), device=gpu)
for step in range(1, steps + 1):
    batch = torch.randint(0, 8192, (256,), device=gpu)
    loss = torch.nn.functional.cross_entropy(net(data[batch]), labels[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}/{steps} loss {loss.item():.6f}", flush=True)
    time.sleep(0.002)
digest = hashlib.sha256()
for p in net.parameters():
    digest.update(p.detach().cpu().numpy().tobytes())
if gigabytes:
    digest.update(ballast[:: 2**20].cpu().numpy().tobytes())
with open("weights.txt", "w") as f:
    f.write(digest.hexdigest() + "\n")
print("weights", digest.hexdigest())
