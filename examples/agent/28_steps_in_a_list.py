import torch


@torch.compile(backend="eager")
def repeated(x, times):
    for _ in range(int(times.item())):
        x = x * 2
    return x


print(repeated(torch.ones(2), torch.tensor(3)))
