import torch


@torch.compile(backend="eager")
def f(x):
    y = x.softmax(0)
    y.max().item()
    return y * 2


print(f(torch.ones(3)))
