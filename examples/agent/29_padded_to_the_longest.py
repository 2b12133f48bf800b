import torch


def f(tokens, mask):
    return (tokens * mask).sum(1)


f_c = torch.compile(f, backend="eager")
for length in (5, 7, 9):
    tokens = torch.ones(2, length)
    mask = torch.ones(2, length)
    print(f_c(tokens, mask))
