# Compile id 0/1: the graph Dynamo captured.

import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4][1]cpu", L_factor_: "Sym(s48)"):
        l_x_ = L_x_
        l_factor_ = L_factor_

        # File: /work/program.py:10 in scaled, code: y = x * factor
        y: "f32[4][1]cpu" = l_x_ * l_factor_;  l_x_ = l_factor_ = None
        return (y,)
