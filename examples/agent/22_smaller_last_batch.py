import torch

data = torch.utils.data.TensorDataset(torch.arange(20.0).reshape(10, 2))
loader = torch.utils.data.DataLoader(data, batch_size=4)


@torch.compile(backend="eager")
def total(x):
    return (x * 2).sum()


for (x,) in loader:
    print(total(x))
