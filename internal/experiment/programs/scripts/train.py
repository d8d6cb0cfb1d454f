"""Trains a small network on its own data without a GPU: train.py EPOCHS"""
import math
import random
import sys

epochs = int(sys.argv[1])
random.seed(1)
INPUTS, HIDDEN, RATE = 8, 12, 0.05
data = []
for _ in range(200):
    x = [random.gauss(0, 1) for _ in range(INPUTS)]
    data.append((x, 1.0 if sum(x[:4]) * x[4] > 0 else 0.0))
w1 = [[random.gauss(0, 0.3) for _ in range(INPUTS)] for _ in range(HIDDEN)]
w2 = [random.gauss(0, 0.3) for _ in range(HIDDEN)]
for epoch in range(epochs):
    loss = 0.0
    for x, y in data:
        h = [math.tanh(sum(a * b for a, b in zip(w, x))) for w in w1]
        p = 1 / (1 + math.exp(-sum(a * b for a, b in zip(w2, h))))
        loss -= math.log(max(p if y else 1 - p, 1e-12))
        d = p - y
        for j in range(HIDDEN):
            g = d * w2[j] * (1 - h[j] * h[j])
            w2[j] -= RATE * d * h[j]
            row = w1[j]
            for k in range(INPUTS):
                row[k] -= RATE * g * x[k]
    if epoch % 10 == 0:
        print("epoch", epoch, "loss", round(loss / len(data), 4), flush=True)
