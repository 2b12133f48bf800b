import torch
from torch import nn


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.lin(x) + self.calls


net = torch.compile(Counted(), backend="eager")
for _ in range(4):
    out = net(torch.ones(2, 4))
print(out.sum())
