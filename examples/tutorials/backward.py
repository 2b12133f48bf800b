import torch

import depyf


def loss_of(w, x):
    hidden = torch.tanh(x @ w)
    return (hidden * hidden).sum()


torch.manual_seed(0)
w = torch.randn(3, 2, requires_grad=True)
x = torch.randn(4, 3)
compiled = torch.compile(loss_of)

with depyf.prepare_debug("dump"):
    compiled(w, x).backward()

w.grad = None
with depyf.debug(level="aot"):
    loss = compiled(w, x)
    loss.backward()
print(w.grad)
