import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.calls = 0

    def checked(self, values):
        self.calls += 1
        if torch.isnan(values).any():
            raise ValueError("a NaN in a layer")
        return values


class Mix(Layer):
    def forward(self, x):
        hidden = self.checked(self.up(x).softmax(-1))
        return x + self.down(hidden)


class Gate(Layer):
    def forward(self, x):
        hidden = self.checked(self.up(x).tanh())
        return x * self.down(hidden).sigmoid()


class Feed(Layer):
    def forward(self, x):
        hidden = self.checked(self.up(x).relu())
        return x + self.down(hidden)


class Model(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.ModuleList([Mix(width), Gate(width), Feed(width)])
        self.head = nn.Linear(width, 1)
        self.weight = 0.0

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def loss_of(model, x, y):
    return (model(x) - y).pow(2).mean() * model.weight


def main():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    compiled = torch.compile(loss_of, backend="aot_eager")
    data = torch.randn(154, 16)
    for epoch in range(2):
        for step, x in enumerate(data.split(20)):  # the last batch has 14 rows
            model.weight = 1 + step  # later batches count more
            loss = compiled(model, x, x.sum(1, keepdim=True))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    print(f"loss {loss.item():.3f}")
    return compiled, model


if __name__ == "__main__":
    main()
