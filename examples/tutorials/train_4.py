import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        hidden = torch.relu(self.up(x))
        return x + self.down(hidden)


class Model(nn.Module):
    def __init__(self, width=16, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)
        self.register_buffer("weight", torch.zeros(()))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def loss_of(model, x, y):
    return (model(x) - y).pow(2).mean() * model.weight


def main():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    compiled = torch.compile(loss_of, backend="aot_eager", dynamic=True)
    data = torch.randn(154, 16)
    for epoch in range(2):
        for step, x in enumerate(data.split(20)):  # the last batch has 14 rows
            model.weight.fill_(1 / (1 + step))
            loss = compiled(model, x, x.sum(1, keepdim=True))
            if torch.isnan(loss):
                raise ValueError("the loss is NaN")
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    print(f"loss {loss.item():.3f}")
    return compiled, model


if __name__ == "__main__":
    main()
