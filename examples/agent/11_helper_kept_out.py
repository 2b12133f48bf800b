import torch


@torch.compiler.disable
def rescaled(x):
    return x / x.norm()


@torch.compile(backend="eager")
def f(x):
    return rescaled(x.sin()).cos()


print(f(torch.ones(3)))
