import torch


def noisy(x, sigma):
    return x + sigma * x.abs()


noisy_c = torch.compile(noisy, backend="eager", dynamic=False)
for step in range(4):
    sigma = 1.0 / (step + 1)
    x = torch.ones(4)
    out = noisy_c(x, sigma)
print(out)
