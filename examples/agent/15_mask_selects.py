import torch

torch.manual_seed(0)


@torch.compile(backend="eager")
def masked_sum(x):
    return x[x > 0].sum()


print(masked_sum(torch.randn(8)))
