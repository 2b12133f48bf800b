import torch


def f(x):
    return x.sin() + 1


for _ in range(4):
    f_c = torch.compile(f, backend=lambda gm, inputs: gm.forward)
    out = f_c(torch.ones(3))
print(out)
