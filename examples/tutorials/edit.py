import torch


@torch.compile(backend="aot_eager")
def scores(x, weight):
    rows = x.t().contiguous().t()
    return (rows * weight).relu()


torch.manual_seed(0)
x = torch.randn(2048, 512)
weight = torch.randn(512, requires_grad=True)
for step in range(3):
    loss = scores(x, weight).mean()
    loss.backward()
print(f"loss {loss.item():.3f}")
