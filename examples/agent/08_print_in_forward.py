import torch
from torch import nn


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        y = self.lin(x)
        print("in forward")
        return y.relu()


net = torch.compile(Noisy(), backend="eager")
out = net(torch.ones(2, 4))
