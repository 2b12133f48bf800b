"""Why would another call of train_1.py's function compile again?"""

import torch
import train_1

import depyf

compiled, model = train_1.main()
x = torch.randn(20, 16)
print(depyf.why(compiled, model, x, x.sum(1, keepdim=True)))
