import torch


@torch.compile(backend="eager")
def root(x):
    assert x.min().item() >= 0, "negative"
    return x.sqrt()


print(root(torch.ones(3)))
