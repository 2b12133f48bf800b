import torch
from torch import nn

import depyf


class Mixer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, width)
        self.down = nn.Linear(width, width)

    def forward(self, x):
        hidden = torch.sigmoid(self.up(x))
        weights = torch.log(hidden - 0.5)
        return x + self.down(hidden * weights)


class Model(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.embed = nn.Linear(width, width)
        self.mixer = Mixer(width)

    def forward(self, x):
        return self.mixer(self.embed(x)).mean()


def main():
    torch.manual_seed(0)
    model = torch.compile(Model())
    x = torch.randn(4, 8)
    print("loss:", model(x).item())
    with depyf.debug(stop_on="nan"):
        model(x)


if __name__ == "__main__":
    main()
