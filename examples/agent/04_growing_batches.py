import torch


def scores(x, w):
    return (x @ w).relu()


scores_c = torch.compile(scores, backend="eager")
weight = torch.randn(4, 3)
for size in (8, 16, 24):
    batch = torch.randn(size, 4)
    print(scores_c(batch, weight).shape)
