import torch


@torch.compile(backend="eager")
def f(x):
    if x.size(0) == 4:
        return x * 4
    return x


x = torch.ones(4)
torch._dynamo.mark_dynamic(x, 0)
try:
    print(f(x))
except Exception as error:
    print(type(error).__name__)
