import torch


def f(x):
    return x.reshape(-1).sin()


f_c = torch.compile(f, backend="eager")
x = torch.arange(12.0).reshape(3, 4)
y = torch.arange(12.0).reshape(4, 3).t()
print(f_c(x).sum(), f_c(y).sum())
