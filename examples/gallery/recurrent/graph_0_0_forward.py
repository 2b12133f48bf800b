"""The graph that torch.compile made of recurrent.<locals>.Cells.forward (examples/gallery_models.py:108), compile id 0/0.

Written by `depyf gallery`, recorded with torch 2.13.0; it needs torch only.  It runs the captured graph in eager
mode, under torch.compile and as AOTAutograd's forward and backward graphs, and compares results and gradients.

    python THIS_FILE [--backend inductor|aot_eager|eager|none] [--seed N]

Exit status: 0 everything agrees, 1 something differs, 2 a device or an operator is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import warnings
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

import torch


def make_inputs(seed=0):
    """The inputs as recorded: shapes, strides, dtypes, devices; the values are random."""
    make = Make(seed)
    return {
        "xs": make.normal(2, 3, 4),
        "cell_weight_ih": make.normal(24, 4, scale=0.5, grad=True),  # parameter self.cell.weight_ih
        "cell_weight_hh": make.normal(24, 6, scale=0.41, grad=True),  # parameter self.cell.weight_hh
        "cell_bias_ih": make.uniform(24, low=0.5, high=1.5, grad=True),  # parameter self.cell.bias_ih
        "cell_bias_hh": make.uniform(24, low=0.5, high=1.5, grad=True),  # parameter self.cell.bias_hh
    }


class Captured(torch.nn.Module):
    def forward(
        self,
        xs: "f32[2, 3, 4][12, 4, 1]cpu",
        cell_weight_ih: "f32[24, 4][4, 1]cpu",
        cell_weight_hh: "f32[24, 6][6, 1]cpu",
        cell_bias_ih: "f32[24][1]cpu",
        cell_bias_hh: "f32[24][1]cpu",
    ):
        # File: examples/gallery_models.py:109 in forward, code: h = c = xs.new_zeros(2, 6)
        h: "f32[2, 6][6, 1]cpu" = xs.new_zeros(2, 6)

        # File: examples/gallery_models.py:110 in forward, code: for x in xs.unbind(1):
        unbind = xs.unbind(1)
        x: "f32[2, 4][12, 1]cpu" = unbind[0]
        x_1: "f32[2, 4][12, 1]cpu" = unbind[1]
        x_2: "f32[2, 4][12, 1]cpu" = unbind[2]

        # File: examples/gallery_models.py:111 in forward, code: h, c = self.cell(x, (h, c))
        lstm_cell = torch.lstm_cell(x, (h, h), cell_weight_ih, cell_weight_hh, cell_bias_ih, cell_bias_hh)
        h_1: "f32[2, 6][6, 1]cpu" = lstm_cell[0]
        c: "f32[2, 6][6, 1]cpu" = lstm_cell[1]
        lstm_cell_1 = torch.lstm_cell(x_1, (h_1, c), cell_weight_ih, cell_weight_hh, cell_bias_ih, cell_bias_hh)
        h_2: "f32[2, 6][6, 1]cpu" = lstm_cell_1[0]
        c_1: "f32[2, 6][6, 1]cpu" = lstm_cell_1[1]
        lstm_cell_2 = torch.lstm_cell(x_2, (h_2, c_1), cell_weight_ih, cell_weight_hh, cell_bias_ih, cell_bias_hh)
        h_3: "f32[2, 6][6, 1]cpu" = lstm_cell_2[0]
        return (h_3,)


class Forward(torch.nn.Module):
    def forward(
        self,
        primals_1: "f32[2, 3, 4][12, 4, 1]cpu",
        primals_2: "f32[24, 4][4, 1]cpu",
        primals_3: "f32[24, 6][6, 1]cpu",
        primals_4: "f32[24][1]cpu",
        primals_5: "f32[24][1]cpu",
    ):
        # File: examples/gallery_models.py:109 in forward, code: h = c = xs.new_zeros(2, 6)
        new_zeros: "f32[2, 6][6, 1]cpu" = torch.ops.aten.new_zeros.default(primals_1, [2, 6], pin_memory = False)

        # File: examples/gallery_models.py:110 in forward, code: for x in xs.unbind(1):
        unbind = torch.ops.aten.unbind.int(primals_1, 1)
        getitem: "f32[2, 4][12, 1]cpu" = unbind[0]
        getitem_1: "f32[2, 4][12, 1]cpu" = unbind[1]
        getitem_2: "f32[2, 4][12, 1]cpu" = unbind[2]

        # File: examples/gallery_models.py:111 in forward, code: h, c = self.cell(x, (h, c))
        t: "f32[6, 24][1, 6]cpu" = torch.ops.aten.t.default(primals_3)
        addmm: "f32[2, 24][24, 1]cpu" = torch.ops.aten.addmm.default(primals_5, new_zeros, t)
        t_1: "f32[4, 24][1, 4]cpu" = torch.ops.aten.t.default(primals_2)
        addmm_1: "f32[2, 24][24, 1]cpu" = torch.ops.aten.addmm.default(primals_4, getitem, t_1)
        add: "f32[2, 24][24, 1]cpu" = torch.ops.aten.add.Tensor(addmm, addmm_1)
        unsafe_split = torch.ops.aten.unsafe_split.Tensor(add, 6, 1)
        getitem_3: "f32[2, 6][24, 1]cpu" = unsafe_split[0]
        getitem_4: "f32[2, 6][24, 1]cpu" = unsafe_split[1]
        getitem_5: "f32[2, 6][24, 1]cpu" = unsafe_split[2]
        getitem_6: "f32[2, 6][24, 1]cpu" = unsafe_split[3]
        sigmoid: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid.default(getitem_3)
        sigmoid_1: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid.default(getitem_4)
        tanh: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh.default(getitem_5)
        sigmoid_2: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid.default(getitem_6)
        mul: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(sigmoid_1, new_zeros)
        mul_1: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(sigmoid, tanh)
        add_1: "f32[2, 6][6, 1]cpu" = torch.ops.aten.add.Tensor(mul, mul_1)
        tanh_1: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh.default(add_1)
        mul_2: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(sigmoid_2, tanh_1)
        addmm_2: "f32[2, 24][24, 1]cpu" = torch.ops.aten.addmm.default(primals_5, mul_2, t)
        addmm_3: "f32[2, 24][24, 1]cpu" = torch.ops.aten.addmm.default(primals_4, getitem_1, t_1)
        add_2: "f32[2, 24][24, 1]cpu" = torch.ops.aten.add.Tensor(addmm_2, addmm_3)
        unsafe_split_1 = torch.ops.aten.unsafe_split.Tensor(add_2, 6, 1)
        getitem_7: "f32[2, 6][24, 1]cpu" = unsafe_split_1[0]
        getitem_8: "f32[2, 6][24, 1]cpu" = unsafe_split_1[1]
        getitem_9: "f32[2, 6][24, 1]cpu" = unsafe_split_1[2]
        getitem_10: "f32[2, 6][24, 1]cpu" = unsafe_split_1[3]
        sigmoid_3: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid.default(getitem_7)
        sigmoid_4: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid.default(getitem_8)
        tanh_2: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh.default(getitem_9)
        sigmoid_5: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid.default(getitem_10)
        mul_3: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(sigmoid_4, add_1)
        mul_4: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(sigmoid_3, tanh_2)
        add_3: "f32[2, 6][6, 1]cpu" = torch.ops.aten.add.Tensor(mul_3, mul_4)
        tanh_3: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh.default(add_3)
        mul_5: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(sigmoid_5, tanh_3)
        addmm_4: "f32[2, 24][24, 1]cpu" = torch.ops.aten.addmm.default(primals_5, mul_5, t)
        addmm_5: "f32[2, 24][24, 1]cpu" = torch.ops.aten.addmm.default(primals_4, getitem_2, t_1)
        add_4: "f32[2, 24][24, 1]cpu" = torch.ops.aten.add.Tensor(addmm_4, addmm_5)
        unsafe_split_2 = torch.ops.aten.unsafe_split.Tensor(add_4, 6, 1)
        getitem_11: "f32[2, 6][24, 1]cpu" = unsafe_split_2[0]
        getitem_12: "f32[2, 6][24, 1]cpu" = unsafe_split_2[1]
        getitem_13: "f32[2, 6][24, 1]cpu" = unsafe_split_2[2]
        getitem_14: "f32[2, 6][24, 1]cpu" = unsafe_split_2[3]
        sigmoid_6: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid.default(getitem_11)
        sigmoid_7: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid.default(getitem_12)
        tanh_4: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh.default(getitem_13)
        sigmoid_8: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid.default(getitem_14)
        mul_6: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(sigmoid_7, add_3)
        mul_7: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(sigmoid_6, tanh_4)
        add_5: "f32[2, 6][6, 1]cpu" = torch.ops.aten.add.Tensor(mul_6, mul_7)
        tanh_5: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh.default(add_5)
        mul_8: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(sigmoid_8, tanh_5)
        detach_60: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(sigmoid_1)
        detach_61: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_60)
        return (mul_8, primals_3, new_zeros, getitem, getitem_1, getitem_2, sigmoid, tanh, sigmoid_2, add_1, tanh_1, mul_2, sigmoid_3, sigmoid_4, tanh_2, sigmoid_5, add_3, tanh_3, mul_5, sigmoid_6, sigmoid_7, tanh_4, sigmoid_8, tanh_5, detach_61)


class Backward(torch.nn.Module):
    def forward(
        self,
        primals_3: "f32[24, 6][6, 1]cpu",
        new_zeros: "f32[2, 6][6, 1]cpu",
        getitem: "f32[2, 4][12, 1]cpu",
        getitem_1: "f32[2, 4][12, 1]cpu",
        getitem_2: "f32[2, 4][12, 1]cpu",
        sigmoid: "f32[2, 6][6, 1]cpu",
        tanh: "f32[2, 6][6, 1]cpu",
        sigmoid_2: "f32[2, 6][6, 1]cpu",
        add_1: "f32[2, 6][6, 1]cpu",
        tanh_1: "f32[2, 6][6, 1]cpu",
        mul_2: "f32[2, 6][6, 1]cpu",
        sigmoid_3: "f32[2, 6][6, 1]cpu",
        sigmoid_4: "f32[2, 6][6, 1]cpu",
        tanh_2: "f32[2, 6][6, 1]cpu",
        sigmoid_5: "f32[2, 6][6, 1]cpu",
        add_3: "f32[2, 6][6, 1]cpu",
        tanh_3: "f32[2, 6][6, 1]cpu",
        mul_5: "f32[2, 6][6, 1]cpu",
        sigmoid_6: "f32[2, 6][6, 1]cpu",
        sigmoid_7: "f32[2, 6][6, 1]cpu",
        tanh_4: "f32[2, 6][6, 1]cpu",
        sigmoid_8: "f32[2, 6][6, 1]cpu",
        tanh_5: "f32[2, 6][6, 1]cpu",
        detach_61: "f32[2, 6][6, 1]cpu",
        tangents_1: "f32[2, 6][6, 1]cpu",
    ):
        # File: examples/gallery_models.py:111 in forward, code: h, c = self.cell(x, (h, c))
        mul_9: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, sigmoid_8)
        mul_10: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, tanh_5)
        detach_14: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(tanh_5)
        detach_15: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_14)
        tanh_backward: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh_backward.default(mul_9, detach_15)
        mul_11: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(tanh_backward, sigmoid_6)
        mul_12: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(tanh_backward, tanh_4)
        mul_13: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(tanh_backward, sigmoid_7)
        mul_14: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(tanh_backward, add_3)
        detach_18: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(sigmoid_8)
        detach_19: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_18)
        sigmoid_backward: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid_backward.default(mul_10, detach_19)
        detach_22: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(tanh_4)
        detach_23: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_22)
        tanh_backward_1: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh_backward.default(mul_11, detach_23)
        detach_26: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(sigmoid_7)
        detach_27: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_26)
        sigmoid_backward_1: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid_backward.default(mul_14, detach_27)
        detach_30: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(sigmoid_6)
        detach_31: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_30)
        sigmoid_backward_2: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid_backward.default(mul_12, detach_31)
        cat: "f32[2, 24][24, 1]cpu" = torch.ops.aten.cat.default([sigmoid_backward_2, sigmoid_backward_1, tanh_backward_1, sigmoid_backward], 1)
        t_6: "f32[24, 2][1, 24]cpu" = torch.ops.aten.t.default(cat)
        mm: "f32[24, 4][4, 1]cpu" = torch.ops.aten.mm.default(t_6, getitem_2)
        t_7: "f32[4, 24][1, 4]cpu" = torch.ops.aten.t.default(mm)
        sum_1: "f32[1, 24][24, 1]cpu" = torch.ops.aten.sum.dim_IntList(cat, [0], True)
        view: "f32[24][1]cpu" = torch.ops.aten.view.default(sum_1, [24])
        t_8: "f32[24, 4][4, 1]cpu" = torch.ops.aten.t.default(t_7)
        t: "f32[6, 24][1, 6]cpu" = torch.ops.aten.t.default(primals_3)
        t_9: "f32[24, 6][6, 1]cpu" = torch.ops.aten.t.default(t)
        mm_1: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mm.default(cat, t_9)
        mm_2: "f32[24, 6][6, 1]cpu" = torch.ops.aten.mm.default(t_6, mul_5)
        t_11: "f32[6, 24][1, 6]cpu" = torch.ops.aten.t.default(mm_2)
        t_12: "f32[24, 6][6, 1]cpu" = torch.ops.aten.t.default(t_11)
        mul_15: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(mm_1, sigmoid_5)
        mul_16: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(mm_1, tanh_3)
        detach_9: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(tanh_3)
        detach_32: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_9)
        tanh_backward_2: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh_backward.default(mul_15, detach_32)
        add_6: "f32[2, 6][6, 1]cpu" = torch.ops.aten.add.Tensor(mul_13, tanh_backward_2)
        mul_17: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(add_6, sigmoid_3)
        mul_18: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(add_6, tanh_2)
        mul_19: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(add_6, sigmoid_4)
        mul_20: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(add_6, add_1)
        detach_35: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(sigmoid_5)
        detach_36: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_35)
        sigmoid_backward_3: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid_backward.default(mul_16, detach_36)
        detach_39: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(tanh_2)
        detach_40: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_39)
        tanh_backward_3: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh_backward.default(mul_17, detach_40)
        detach_43: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(sigmoid_4)
        detach_44: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_43)
        sigmoid_backward_4: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid_backward.default(mul_20, detach_44)
        detach_47: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(sigmoid_3)
        detach_48: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_47)
        sigmoid_backward_5: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid_backward.default(mul_18, detach_48)
        cat_1: "f32[2, 24][24, 1]cpu" = torch.ops.aten.cat.default([sigmoid_backward_5, sigmoid_backward_4, tanh_backward_3, sigmoid_backward_3], 1)
        t_13: "f32[24, 2][1, 24]cpu" = torch.ops.aten.t.default(cat_1)
        mm_3: "f32[24, 4][4, 1]cpu" = torch.ops.aten.mm.default(t_13, getitem_1)
        t_14: "f32[4, 24][1, 4]cpu" = torch.ops.aten.t.default(mm_3)
        sum_3: "f32[1, 24][24, 1]cpu" = torch.ops.aten.sum.dim_IntList(cat_1, [0], True)
        view_2: "f32[24][1]cpu" = torch.ops.aten.view.default(sum_3, [24])
        add_7: "f32[24][1]cpu" = torch.ops.aten.add.Tensor(view, view_2)
        t_15: "f32[24, 4][4, 1]cpu" = torch.ops.aten.t.default(t_14)
        add_8: "f32[24, 4][4, 1]cpu" = torch.ops.aten.add.Tensor(t_8, t_15)
        mm_4: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mm.default(cat_1, t_9)
        mm_5: "f32[24, 6][6, 1]cpu" = torch.ops.aten.mm.default(t_13, mul_2)
        t_18: "f32[6, 24][1, 6]cpu" = torch.ops.aten.t.default(mm_5)
        t_19: "f32[24, 6][6, 1]cpu" = torch.ops.aten.t.default(t_18)
        add_10: "f32[24, 6][6, 1]cpu" = torch.ops.aten.add.Tensor(t_12, t_19)
        mul_21: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(mm_4, sigmoid_2)
        mul_22: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(mm_4, tanh_1)
        detach_4: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(tanh_1)
        detach_49: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_4)
        tanh_backward_4: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh_backward.default(mul_21, detach_49)
        add_11: "f32[2, 6][6, 1]cpu" = torch.ops.aten.add.Tensor(mul_19, tanh_backward_4)
        mul_23: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(add_11, sigmoid)
        mul_24: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(add_11, tanh)
        mul_25: "f32[2, 6][6, 1]cpu" = torch.ops.aten.mul.Tensor(add_11, new_zeros)
        detach_52: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(sigmoid_2)
        detach_53: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_52)
        sigmoid_backward_6: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid_backward.default(mul_22, detach_53)
        detach_56: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(tanh)
        detach_57: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_56)
        tanh_backward_5: "f32[2, 6][6, 1]cpu" = torch.ops.aten.tanh_backward.default(mul_23, detach_57)
        sigmoid_backward_7: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid_backward.default(mul_25, detach_61)
        detach_64: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(sigmoid)
        detach_65: "f32[2, 6][6, 1]cpu" = torch.ops.aten.detach.default(detach_64)
        sigmoid_backward_8: "f32[2, 6][6, 1]cpu" = torch.ops.aten.sigmoid_backward.default(mul_24, detach_65)
        cat_2: "f32[2, 24][24, 1]cpu" = torch.ops.aten.cat.default([sigmoid_backward_8, sigmoid_backward_7, tanh_backward_5, sigmoid_backward_6], 1)
        t_20: "f32[24, 2][1, 24]cpu" = torch.ops.aten.t.default(cat_2)
        mm_6: "f32[24, 4][4, 1]cpu" = torch.ops.aten.mm.default(t_20, getitem)
        t_21: "f32[4, 24][1, 4]cpu" = torch.ops.aten.t.default(mm_6)
        sum_5: "f32[1, 24][24, 1]cpu" = torch.ops.aten.sum.dim_IntList(cat_2, [0], True)
        view_4: "f32[24][1]cpu" = torch.ops.aten.view.default(sum_5, [24])
        add_12: "f32[24][1]cpu" = torch.ops.aten.add.Tensor(add_7, view_4)
        t_22: "f32[24, 4][4, 1]cpu" = torch.ops.aten.t.default(t_21)
        add_13: "f32[24, 4][4, 1]cpu" = torch.ops.aten.add.Tensor(add_8, t_22)
        mm_7: "f32[24, 6][6, 1]cpu" = torch.ops.aten.mm.default(t_20, new_zeros)
        t_24: "f32[6, 24][1, 6]cpu" = torch.ops.aten.t.default(mm_7)
        add_14: "f32[24][1]cpu" = torch.ops.aten.add.Tensor(add_7, view_4)
        t_25: "f32[24, 6][6, 1]cpu" = torch.ops.aten.t.default(t_24)
        add_15: "f32[24, 6][6, 1]cpu" = torch.ops.aten.add.Tensor(add_10, t_25)
        return (None, add_13, add_15, add_12, add_14)


def ambient():
    """The modes that the program had switched on around the graph."""
    return contextlib.nullcontext()


def targets(arguments, outputs):
    """What the gradients arrive for, in the order of the backward graph's tangents."""
    del arguments
    return [outputs[0]]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="aot_eager", help="for torch.compile; none: leave it out")
    parser.add_argument("--seed", type=int, default=0, help="other values for the inputs")
    options = parser.parse_args(argv)
    return judged(compare, options, 0.0001)


def compare(options, tolerance):
    names = list(make_inputs())

    def inputs():
        return report.given(list(make_inputs(options.seed).values()))

    def computed(shake):
        with drawing(fixed=False):
            return run(Captured(), shaken(inputs()) if shake else inputs(), ambient)

    report = Report(tolerance, computed)
    report.title("The captured graph in eager mode")
    with drawing(fixed=False):
        eager = report.first(lambda: run(Captured(), inputs(), ambient))
    report.describe(eager["outputs"])

    if options.backend != "none":
        report.title(f"torch.compile(graph, backend={options.backend!r})")
        torch._dynamo.reset()
        compiled = torch.compile(Captured(), backend=options.backend)
        with drawing(fixed=False):
            got = run(compiled, inputs(), ambient)
        report.same(names, eager, got)

    report.title("AOTAutograd's forward and backward graphs")
    with drawing(fixed=False):
        eager = run(Captured(), inputs(), ambient, targets)
    outputs, arguments = eager["outputs"], eager["inputs afterwards"]
    saved = ("primals_3", "new_zeros", "getitem", "getitem_1", "getitem_2", "sigmoid", "tanh", "sigmoid_2", "add_1", "tanh_1", "mul_2", "sigmoid_3", "sigmoid_4", "tanh_2", "sigmoid_5", "add_3", "tanh_3", "mul_5", "sigmoid_6", "sigmoid_7", "tanh_4", "sigmoid_8", "tanh_5", "detach_61")
    wanted = ("primals_3", "new_zeros", "getitem", "getitem_1", "getitem_2", "sigmoid", "tanh", "sigmoid_2", "add_1", "tanh_1", "mul_2", "sigmoid_3", "sigmoid_4", "tanh_2", "sigmoid_5", "add_3", "tanh_3", "mul_5", "sigmoid_6", "sigmoid_7", "tanh_4", "sigmoid_8", "tanh_5", "detach_61", "tangents_1")
    cotangents = [c.contiguous() for c in eager["cotangents"]]
    backward = None if report.forward_only else Backward()
    with drawing(fixed=False):
        got = run_aot(Forward(), inputs(), front=1, backward=backward, saved=saved, wanted=wanted, cotangents=cotangents)
    labels = ("output 0",)
    report.all("", labels, outputs, got["results"])
    if not report.forward_only:
        report.all("gradient of", names, eager["gradients"], got["gradients"])

    return report


# What follows is the same in every script.


class Make:
    """Random tensors of a given layout: the same seed makes the same values, on any device."""

    ends: str | None = None
    """Of the ranges of integers, the end that is taken for all elements; "" once there are integers."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.storages: dict[int, torch.Tensor] = {}

    def normal(self, *size: int, scale: float = 1.0, dtype: torch.dtype = torch.float32, **layout: Any) -> torch.Tensor:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        return self.place(lambda n: torch.randn(n, generator=self.generator, dtype=wide) * scale, size, dtype, **layout)

    def uniform(
        self, *size: int, low: float, high: float, dtype: torch.dtype = torch.float32, **layout: Any
    ) -> torch.Tensor:
        def values(n: int) -> torch.Tensor:
            return torch.rand(n, generator=self.generator, dtype=torch.float64) * (high - low) + low

        return self.place(values, size, dtype, **layout)

    def integers(
        self,
        *size: int,
        low: int = 0,
        high: int = 2,
        total: int | None = None,
        dtype: torch.dtype = torch.int64,
        **layout: Any,
    ) -> torch.Tensor:
        """From ``low`` up to but not including ``high``; or numbers that add up to ``total``."""

        def values(n: int) -> torch.Tensor:
            if total is None:
                Make.ends = Make.ends or ""
                first, last = {"smallest": (low, low), "largest": (high - 1, high - 1)}.get(Make.ends, (low, high - 1))
                return torch.randint(first, last + 1, (n,), generator=self.generator)
            return torch.bincount(torch.randint(0, n, (total,), generator=self.generator), minlength=n)

        return self.place(values, size, dtype, **layout)

    def booleans(self, *size: int, most: int | None = None, true: int | None = None, **layout: Any) -> torch.Tensor:
        """Half of them true, at most ``most``, and no row all true or all false: it may be a mask.  Or just ``true`` of
        them."""

        def values(n: int) -> torch.Tensor:
            if true is not None:
                return torch.randperm(n, generator=self.generator) < true
            drawn = torch.rand(n, generator=self.generator) < 0.5
            return drawn if most is None else drawn & (drawn.cumsum(0) <= most)

        made = self.place(values, size, torch.bool, **layout)
        if size and size[-1] > 1 and not layout and most is None and true is None:
            made[..., 0], made[..., 1] = True, False
        return made

    def place(
        self,
        values: Callable[[int], torch.Tensor],
        size: tuple[int, ...],
        dtype: torch.dtype,
        stride: tuple[int, ...] | None = None,
        offset: int = 0,
        device: str = "cpu",
        grad: bool = False,
        shared: tuple[int, int] | None = None,
    ) -> torch.Tensor:
        """``shared``: the number of a storage that several inputs are views of, and its length."""
        if stride is None:
            stride = tuple(math.prod(size[i + 1 :]) for i in range(len(size)))
        extent = 1 + sum((n - 1) * step for n, step in zip(size, stride)) if all(size) else 0
        number, length = shared or (-1, offset + extent)
        storage = self.storages.get(number) if shared else None
        if storage is None:
            storage = self.storages[number] = values(length).to(dtype).to(device)
        return storage.as_strided(size, stride, offset).requires_grad_(grad)


def run(
    graph: Callable[..., Any],
    inputs: list[Any],
    ambient: Callable[[], Any],
    targets: Callable[[list[Any], list[Any]], list[Any]] = lambda arguments, outputs: outputs,
    computed: Container[int] = range(1 << 30),
) -> dict[str, Any]:
    """Call ``graph`` and differentiate what it computes; ``targets`` chooses from arguments and outputs; ``computed``:
    positions of the inputs that are no leaves."""
    before = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
    held = constants(graph)
    held_before = {name: value.clone() for name, value in held.items()}
    arguments = [new if i in computed else old for i, (old, new) in enumerate(zip(inputs, as_arguments(inputs)))]
    with ambient():
        outputs = flat(graph(*arguments))
    leaves = [value for value in inputs if isinstance(value, torch.Tensor) and value.requires_grad]
    found = [t for t in targets(arguments, outputs) if isinstance(t, torch.Tensor)]
    # a view made under no_grad of what requires a gradient says so too, but no gradient goes through it
    wanted = [t for t in found if t.grad_fn is not None or any(t is leaf for leaf in leaves)]
    cotangents = [cotangent(target, number) for number, target in enumerate(wanted)]
    left = iter(derivatives(wanted, leaves, cotangents) if wanted and leaves else ())
    return {
        "outputs": outputs,
        "inputs before": before,
        "inputs afterwards": arguments,
        "constants before": held_before,
        "constants afterwards": held,
        "gradients": [next(left, None) if getattr(v, "requires_grad", False) else None for v in inputs],
        "cotangents": cotangents,
    }


def constants(graph: Any) -> dict[str, torch.Tensor]:
    """The program's tensors that a graph holds itself, by name: it may write to them."""
    module = getattr(graph, "_orig_mod", graph)
    modules = module.named_modules() if isinstance(module, torch.nn.Module) else ()
    items = [(f"{path}.{name}".lstrip("."), value) for path, one in modules for name, value in vars(one).items()]
    return {name: value for name, value in items if isinstance(value, torch.Tensor)}


def derivatives(wanted: list[Any], leaves: list[Any], cotangents: list[Any]) -> tuple[Any, ...]:
    """The gradients of ``leaves``.  NoDerivative where an operator on the way has none."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = tuple(torch.autograd.grad(wanted, leaves, cotangents, allow_unused=True))
        except RuntimeError as error:  # NotImplementedError is one, too
            if "derivative for " in str(error) or "no autograd formula" in str(error):
                raise NoDerivative(str(error).partition("\n")[0]) from error
            raise
    for warning in heard:
        if "autograd kernel was not registered" in str(warning.message):
            raise NoDerivative(str(warning.message).partition(" to the ")[0])
    return found


class NoDerivative(Exception):
    """An operator of the graph cannot be differentiated; the message says which."""


def as_arguments(values: list[Any]) -> list[Any]:
    """Inputs that can be written to: not leaves, as in the program where they were computed before.  Views of one
    storage are that still."""
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    owners = [tensor.untyped_storage().data_ptr() for tensor in tensors]
    storages: dict[int, torch.Tensor] = {}
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            owner = value.untyped_storage().data_ptr()
            copied = value.clone()
            if owner and owners.count(owner) > 1 and not value.requires_grad:
                length = value.untyped_storage().nbytes() // value.element_size()
                storage = storages.setdefault(owner, value.as_strided((length,), (1,), 0).clone())
                value = storage.as_strided(value.size(), value.stride(), value.storage_offset())
            elif copied.stride() == value.stride():
                value = copied
        found.append(value)
    return found


def flat(value: Any) -> list[Any]:
    """The leaves of nested tuples, lists and dictionaries."""
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, (tuple, list)) else [value]


def cotangent(target: torch.Tensor, number: int) -> torch.Tensor:
    """The gradient that arrives at an output: random, the same in each run."""
    generator = torch.Generator().manual_seed(number)
    kind = torch.complex128 if target.dtype.is_complex else torch.float64
    values = torch.randn(target.shape, generator=generator, dtype=kind)
    return torch.empty_like(target).copy_(values)


def run_aot(
    forward: Callable[..., Any],
    inputs: list[Any],
    front: int,
    backward: Callable[..., Any] | None = None,
    saved: tuple[str, ...] = (),
    wanted: tuple[str, ...] = (),
    cotangents: tuple[torch.Tensor, ...] = (),
) -> dict[str, Any]:
    """AOTAutograd's graphs, called as its runtime calls them.

    The forward returns ``front`` results and then what it saves; the backward takes the saved values by name, and the
    gradients that arrive in place of its ``tangents_N``.
    """
    arguments = as_arguments([value.detach() if isinstance(value, torch.Tensor) else value for value in inputs])
    with torch.no_grad():
        results = list(forward(*arguments))
        grads: list[Any] = []
        if backward is not None:
            known = dict(zip(saved, results[front:]))
            left = iter(cotangents)
            grads = list(backward(*[next(left) if name.startswith("tangents_") else known[name] for name in wanted]))
    return {"results": results[:front], "inputs afterwards": arguments, "gradients": grads[: len(inputs)]}


def agreement(expected: Any, actual: Any, tolerance: float, most: float) -> tuple[bool, str, float]:
    """Whether two results agree, what to say of them, and the part of the expected that they differ by (inf: in more
    than values).

    ``tolerance``: of the largest value of a tensor.  ``most``: the largest value of all results, whose rounding errors
    may be all that a small one consists of.
    """
    sparse = [isinstance(t, torch.Tensor) and t.layout != torch.strided for t in (expected, actual)]
    expected, actual = (t.to_dense() if s else t for t, s in zip((expected, actual), sparse))
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        nan = isinstance(expected, float) and isinstance(actual, float) and expected != expected and actual != actual
        same = type(expected) is type(actual) and (nan or bool(expected == actual))
        return same, f"{expected!r}" if same else f"{expected!r} expected, {actual!r} found", math.inf
    kinds = [(tuple(t.shape), t.dtype, t.device) for t in (expected, actual)]
    if kinds[0] != kinds[1]:
        return False, f"{kinds[1]} instead of {kinds[0]}", math.inf
    one, two = (t.detach().to(torch.complex128 if t.is_complex() else torch.float64).cpu() for t in (expected, actual))
    finite = one.isfinite()
    largest = magnitude([one])
    noise = 100 * torch.finfo(expected.dtype).eps if expected.is_floating_point() or expected.is_complex() else 0.0
    limit = max(tolerance * largest, min(tolerance, noise) * most) if noise else 0.0
    apart = (one - two).abs().where(finite, torch.zeros((), dtype=torch.float64)).nan_to_num(math.inf, math.inf)
    difference = float(apart.max()) if apart.numel() else 0.0
    odd = bool(one[~finite].nan_to_num().equal(two[~finite].nan_to_num()))
    said = f"{str(actual.dtype).removeprefix('torch.')}{list(actual.shape)}  max difference {difference:.2g}, largest value {largest:.3g}"
    strange, wrong = int((~finite).sum()), int((apart > limit).sum())
    said += f", {strange} of {finite.numel()} not finite{' in both' if odd else ''}" if strange else ""
    if wrong:
        place = torch.nonzero(apart == apart.max())[0].tolist()
        said += f", {wrong} of {apart.numel()} differ, most at {place}" if place else ""
    return odd and not wrong, said, difference / max(1.0, largest) if odd else math.inf


def magnitude(results: Iterable[Any]) -> float:
    """The largest absolute value among finite real or complex numbers."""
    found = [0.0]
    for value in results:
        if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.numel():
            wide = torch.complex128 if value.is_complex() else torch.float64
            found.append(float(value.detach().to(wide).abs().nan_to_num(0.0, 0.0).max()))
    return max(found)


def changed(before: list[Any], *afterwards: list[Any]) -> list[list[Any]]:
    """For each of ``afterwards`` the values of what is not in all of them as it was; None for the others."""
    kept = [
        all(not isinstance(one, torch.Tensor) or (one.shape == was.shape and one.equal(was)) for one in after)
        for was, after in zip(before, zip(*afterwards))
    ]
    return [[None if same else one for same, one in zip(kept, after)] for after in afterwards]


class Comparison:
    """Compares results with those expected, prints one line for each, remembers failures."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.most = 0.0
        self.failed = 0
        self.checked = 0

    def title(self, text: str) -> None:
        print(f"\n{text}")

    def expect(self, results: dict[str, Any]) -> None:
        """What comes is compared with ``results``, or with what is computed from these."""
        self.most = magnitude(results["outputs"] + results["gradients"])

    def same(self, names: list[str], expected: dict[str, Any], actual: dict[str, Any]) -> None:
        """Outputs, gradients, inputs and constants that the graph writes to."""
        self.expect(expected)
        numbers = [str(number) for number in range(len(expected["outputs"]))]
        self.all("output", numbers, expected["outputs"], actual["outputs"])
        self.all("gradient of", names, expected["gradients"], actual["gradients"])
        written = (expected["inputs afterwards"], actual["inputs afterwards"])
        self.all("input", names, *changed(expected["inputs before"], *written))
        was = expected["constants before"]
        held = (list(results["constants afterwards"].values()) for results in (expected, actual))
        self.all("constant", list(was), *changed(list(was.values()), *held))

    def all(self, kind: str, names: list[str], expected: list[Any], actual: list[Any]) -> None:
        if len(expected) != len(actual):
            self.line(False, kind, f"{len(actual)} instead of {len(expected)}")
            return
        for name, one, two in zip(names, expected, actual):
            if one is not None or two is not None:
                self.check(f"{kind} {name}".strip(), one, two)

    def check(self, name: str, expected: Any, actual: Any) -> None:
        if isinstance(expected, torch.Tensor) and actual is None:  # a gradient nobody computes is zero
            actual = torch.zeros_like(expected)
        elif isinstance(actual, torch.Tensor) and expected is None:
            expected = torch.zeros_like(actual)
        same, text, part = agreement(expected, actual, self.tolerance, self.most)
        if not same and self.forgiven(part):
            same, text = True, text + self.why()
        self.line(same, name, text)

    def forgiven(self, part: float) -> bool:
        """Whether results that differ by ``part`` are the same all the same."""
        return False

    def why(self) -> str:
        """What to say of those."""
        return ""

    def line(self, same: bool, name: str, text: str) -> None:
        self.failed += not same
        self.checked += 1
        print(f"  {'ok      ' if same else 'MISMATCH'}  {name:<32}  {text}")

    def conclusion(self) -> int:
        """The exit status."""
        if self.failed:
            print(f"\n{self.failed} of {self.checked} results differ")
        else:
            print(f"\nall {self.checked} results agree" if self.checked else "\nit runs; nothing to compare with")
        return 1 if self.failed else 0


def shaken(values: list[Any]) -> list[Any]:
    """In place: each floating-point number larger or smaller by one rounding error."""
    for value in values:
        if isinstance(value, torch.Tensor) and value.layout == torch.strided:
            if not (value.dtype.is_floating_point or value.dtype.is_complex):
                continue
            wide = torch.complex128 if value.dtype.is_complex else torch.float64
            whole = torch.empty(0, dtype=value.dtype, device=value.device).set_(value.untyped_storage())
            signs = torch.randint(0, 2, whole.shape, generator=torch.Generator().manual_seed(0)) * 2 - 1
            whole.copy_(whole.to(wide) * (1 + torch.finfo(value.dtype).eps * signs.to(whole.device)))
    return values


def sensitivity(computed: Callable[[bool], dict[str, Any]]) -> float:
    """By how much of its largest value a result changes that is computed from shaken inputs: at most 0.025.

    Two ways of computing the same round differently at each step, which changes the results about as much."""
    plain, other = computed(False), computed(True)
    pairs = zip(plain["outputs"] + plain["gradients"], other["outputs"] + other["gradients"])
    floating = [
        (one, two)
        for one, two in pairs
        if isinstance(one, torch.Tensor) and (one.is_floating_point() or one.is_complex())
    ]
    found = [agreement(one, two, 0.0, 0.0)[2] for one, two in floating]
    return min(0.025, max([0.0, *(part for part in found if part < math.inf)]))


class Report(Comparison):
    """For made-up inputs: what rounding errors alone may do is measured, and what the inputs cannot show is left out."""

    def __init__(self, tolerance: float, computed: Callable[[bool], dict[str, Any]]) -> None:
        super().__init__(tolerance)
        self.computed = computed
        self.sensitive: float | None = None
        self.rounding = 0
        self.forward_only = False

    def first(self, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What the eager graph computes; from here on without gradients, if one of its operators has none.

        Each integer input is in its range, but together they may be out of another one (positions that are summed up):
        then the smallest of each range is tried, and the largest."""
        try:
            results = compute()
        except NoDerivative as error:
            print(f"            {error}: the forward only")
            self.forward_only = True
            return self.first(compute)
        except (IndexError, RuntimeError) as error:
            if Make.ends is None or Make.ends == "largest":
                raise
            Make.ends = "largest" if Make.ends else "smallest"
            print(f"            {str(error).partition(chr(10))[0]}: now the {Make.ends} integers")
            return self.first(compute)
        self.expect(results)
        return results

    def given(self, values: list[Any]) -> list[Any]:
        """Inputs of which no gradients are asked, where there are none."""
        return [v.detach() if self.forward_only and isinstance(v, torch.Tensor) else v for v in values]

    def describe(self, outputs: list[Any]) -> None:
        for number, value in enumerate(outputs):
            shown = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)  # fmt: skip
            print(f"            output {number:<25}  {shown}")

    def same(self, names: list[str], expected: dict[str, Any], actual: dict[str, Any]) -> None:
        super().same(names, expected, actual)
        self.rounding = 0  # compiled code has no double precision to be judged by

    def forgiven(self, part: float) -> bool:
        if part == math.inf:
            return False
        if self.sensitive is None:
            self.sensitive = sensitivity(self.computed)
        forgiven = part <= 4 * self.sensitive
        self.rounding += not forgiven and self.sensitive >= 0.025
        return forgiven

    def why(self) -> str:
        return f", a rounding error in the inputs makes {self.sensitive:.2g} of it"


def judged(compare: Callable[[Any, float], Report], options: Any, tolerance: float) -> int:
    """The exit status.  Where rounding errors alone decide the results, those in double precision are compared."""
    report = compare(options, tolerance)
    if report.failed and report.failed == report.rounding:
        print("\nRounding errors decide the results that differ.  Once more, in double precision:")
        options.backend = "none"
        try:
            with Double():
                report = compare(options, 1e-6)
        except Exception as error:
            print(f"that does not work: {type(error).__name__}: {error}")
    return report.conclusion()


class Mode(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """One that higher-order operators go through, too; on torch 2.6 each of them asks for a rule."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        known = hasattr(torch.utils._python_dispatch.TorchDispatchMode, "supports_higher_order_operators")
        for func in [] if known else list(getattr(torch._ops, "_higher_order_ops", {}).values()):
            if type(self) not in func.python_key_table:
                func.py_impl(type(self))(
                    lambda mode, *args, func=func, **kwargs: mode.__torch_dispatch__(func, (), args, kwargs)
                )


class Double(Mode):
    """Computes in double precision, whatever the graph says."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = torch.utils._pytree.tree_map(self.wide, (args, kwargs or {}))
        return func(*args, **kwargs)

    def wide(self, value: Any) -> Any:
        kinds = dict.fromkeys((torch.float16, torch.bfloat16, torch.float32), torch.float64)
        kinds[torch.complex64] = torch.complex128
        if isinstance(value, torch.Tensor):
            return value.to(kinds[value.dtype]) if value.dtype in kinds else value
        return kinds.get(value, value) if isinstance(value, torch.dtype) else value


class FixedRandomness(Mode):
    """Replaces random numbers by a fixed pattern, so that two ways of computing one thing draw the same.

    Each distribution is computed from the pattern as Inductor computes it from uniform numbers."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.HigherOrderOperator):
            return self.higher(func, args, kwargs)
        name = func.overloadpacket.__name__
        if name == "native_dropout" and args[2] is not False:
            x, p = args[:2]
            mask = self.pattern(x).to(x.dtype) > p
            return x * mask * (1 / (1 - p) if p < 1 else 1.0), mask
        if name in ("bernoulli", "bernoulli_"):
            p = args[1] if len(args) > 1 else kwargs.get("p", args[0] if name == "bernoulli" else 0.5)
            drawn = self.trials(args[0], p, p is args[0]).to(args[0].dtype)
            return args[0].copy_(drawn) if name == "bernoulli_" else drawn
        if name == "multinomial":
            return self.chosen(*args)
        if name.startswith("rrelu_with_noise") and "backward" not in name and args[4:5] == (True,):
            return self.leaky(name, *args[:4])
        made = func(*args, **kwargs)
        values = self.drawn(name, args, kwargs, made)
        return made if values is None else made.copy_(values)

    def higher(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Those that run a random operator again, as it ran before, draw from the pattern, too."""
        if func.name() == "run_and_save_rng_state":
            with self:
                return torch.get_rng_state(), args[0](*args[1:], **kwargs)
        if func.name() == "run_with_rng_state":
            with self:
                return args[1](*args[2:], **kwargs)
        return func(*args, **kwargs)

    def drawn(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], made: Any) -> torch.Tensor | None:
        """What an operator that made ``made`` would have drawn; None where it draws nothing."""
        base = name.removesuffix("_").removesuffix("_functional").removesuffix("_like").removeprefix("inductor_")
        if base == "random" and name.startswith("inductor"):
            base = args[2]  # rand or randn
        if base == "normal" and name == "normal":  # of tensors
            mean, std = (kwargs["mean"], kwargs["std"]) if "mean" in kwargs else (*args[:2], 1.0)[:2]
            return self.normal(made) * std + mean
        numbers = [arg for arg in args if isinstance(arg, (int, float))]
        if base in ("randint", "random"):
            low, high = [*([0] if len(numbers) < 2 else []), *(numbers or [1 << 16])][:2]
            return (self.pattern(made) * (high - low) + low).floor()
        if base == "randperm":
            return self.pattern(made).argsort()
        if base == "poisson":
            return (args[0] + self.pattern(made)).floor()
        known: dict[str, tuple[tuple[float, ...], Callable[..., torch.Tensor]]] = {
            "rand": ((), lambda: self.pattern(made)),
            "randn": ((), lambda: self.normal(made)),
            "uniform": ((0.0, 1.0), lambda low, high: self.pattern(made) * (high - low) + low),
            "normal": ((0.0, 1.0), lambda mean, std: self.normal(made) * std + mean),
            "log_normal": ((1.0, 2.0), lambda mean, std: (self.normal(made) * std + mean).exp()),
            "exponential": ((1.0,), lambda rate: -torch.log(self.pattern(made)) / rate),
            "cauchy": ((0.0, 1.0), lambda at, width: torch.tan((self.pattern(made) - 0.5) * math.pi) * width + at),
            "geometric": ((0.5,), lambda p: (torch.log1p(-self.pattern(made)) / math.log1p(-p)).floor() + 1),
        }
        if base not in known:
            return None
        defaults, draw = known[base]
        return draw(*(*numbers, *defaults[len(numbers) :])[: len(defaults)])

    def leaky(self, name: str, x: torch.Tensor, noise: torch.Tensor, low: float, high: float) -> Any:
        """As ``rrelu_with_noise``, in place or functional."""
        slopes = torch.where(x <= 0, self.pattern(x).to(x.dtype) * (high - low) + low, 1)
        if name.endswith("_functional"):
            return x * slopes, slopes
        noise.copy_(slopes)
        return x.copy_(x * slopes) if name.endswith("_") else x * slopes

    def trials(self, like: torch.Tensor, p: Any, of_itself: bool) -> torch.Tensor:
        """True with probability ``p``.  On a CPU dropout draws what it keeps, where ``native_dropout`` draws what it
        drops."""
        drawn = self.pattern(like)
        if of_itself or like.device.type != "cpu":
            return drawn < p
        return (drawn.to(like.dtype) if like.is_floating_point() else drawn) > 1 - p

    def normal(self, like: torch.Tensor) -> torch.Tensor:
        return torch.erfinv(2 * self.pattern(like) - 1) * math.sqrt(2)

    def chosen(self, weights: torch.Tensor, count: int, again: bool = False) -> torch.Tensor:
        """As ``torch.multinomial``."""
        if not again:
            noise = -torch.log(-torch.log(self.pattern(weights)))
            return (weights.float().log() + noise).topk(count, -1).indices
        totals = weights.float().cumsum(-1)
        at = self.pattern(weights.new_empty(*weights.shape[:-1], count, dtype=torch.float32)) * totals[..., -1:]
        return torch.searchsorted(totals, at, right=True).clamp(max=weights.shape[-1] - 1)

    def pattern(self, like: torch.Tensor) -> torch.Tensor:
        """Evenly spread over (0, 1): the fractions of multiples of the golden ratio."""
        values = (torch.arange(1, like.numel() + 1, dtype=torch.float64) * 0.6180339887498949).frac()
        return values.clamp(1e-6, 1 - 1e-6).to(torch.float32).reshape(like.shape).to(like.device)


@contextlib.contextmanager
def drawing(fixed: bool, seed: int = 0) -> Iterator[None]:
    """Random numbers from a fixed pattern, or from a fixed seed."""
    torch.manual_seed(seed)
    with FixedRandomness() if fixed else contextlib.nullcontext():
        yield


if __name__ == "__main__":
    sys.exit(main())
