import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 0.5

    def forward(self, x):
        return x * self.scale


module = Scaled()
net = torch.compile(module, backend="eager")
for _ in range(4):
    module.scale *= 0.5
    out = net(torch.ones(2, 4))
print(out)
