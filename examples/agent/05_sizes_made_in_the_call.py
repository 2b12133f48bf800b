import torch


@torch.compile(backend="eager")
def double(x):
    return x * 2


out = double(torch.ones(5))
out = double(torch.ones(6))
out = double(torch.ones(7))
print(out)
