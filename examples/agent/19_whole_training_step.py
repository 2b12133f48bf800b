import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.compile(backend="eager")
def step(x, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


for _ in range(3):
    loss = step(torch.ones(8, 4), torch.zeros(8, 1))
print(loss)
