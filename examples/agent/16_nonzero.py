import torch


@torch.compile(backend="eager")
def places(x):
    return torch.nonzero(x).float() * 2


print(places(torch.tensor([0.0, 1.0, 2.0])))
