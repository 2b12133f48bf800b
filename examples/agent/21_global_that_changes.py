import torch

FACTOR = 1.0


@torch.compile(backend="eager")
def f(x):
    return x * FACTOR


for step in range(4):
    FACTOR = 1.0 + step
    out = f(torch.ones(3))
print(out)
