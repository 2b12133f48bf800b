import torch


@torch.compile(backend="eager")
def flipped(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = -x
    return y.sin()


print(flipped(torch.ones(4)), flipped(-torch.ones(4)))
