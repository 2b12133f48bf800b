"""Loops that a graph holds unrolled, told by the lines of its operations."""

from __future__ import annotations

from depyf.run.graphs.unrolled_loops import unrolled_loops

FILE = "/program/net.py"
SOURCE = """\
def forward(self, xs):
    h = torch.zeros(3)
    for t in range(60):
        h = self.cell(xs[t], h)
    return h

def cell(x, h):
    z = h * x + x * h
    return torch.relu(z)

def other(x):
    return inner(x)
"""
OUTER, CELL, RELU = (FILE, 4, "forward"), (FILE, 8, "cell"), (FILE, 9, "cell")


def graph(times, *more):
    """(operations with their lines, printed graph)"""
    stacks, text = [], ""
    for n in range(times):
        for name, stack, made in [
            (f"mul_{2 * n}", (OUTER, CELL), f"h_{n} * l_x_"),
            (f"mul_{2 * n + 1}", (OUTER, CELL), f"l_x_ * h_{n}"),
            (f"z_{n}", (OUTER, CELL), f"mul_{2 * n} + mul_{2 * n + 1}"),
            (f"h_{n + 1}", (OUTER, RELU), f"torch.relu(z_{n})"),
        ]:
            stacks.append((name, stack))
            text += f'        {name}: "f32[3][1]cpu" = {made};  del h\n'
    for name, stack, made in more:
        stacks.append((name, stack))
        text += f"        {name} = {made}\n"
    return stacks, text


def found(times, *more, source=SOURCE):
    stacks, text = graph(times, *more)
    return unrolled_loops(stacks, text, lambda path: source if path == FILE else "")


def test_the_outermost_loop_is_told_with_what_it_calls():
    (loop,) = found(60, ("zeros", ((FILE, 2, "forward"),), "torch.zeros(3)"))
    assert (loop.file, loop.line, loop.text, loop.loop) == (FILE, 3, "for t in range(60):", True)
    assert (loop.calls, loop.times, loop.operations) == ("self.cell", 60, 240)


def test_operations_before_the_loop_do_not_hide_it():
    (loop,) = found(60, ("clone", (OUTER, CELL), "torch.clone(l_x_)"))
    assert loop.times == 60 and loop.operations == 240


def test_few_times_are_none():
    assert found(7) == () and len(found(8)) == 1


def test_a_part_of_a_long_graph_is_none():
    more = [(f"q_{n}", ((FILE, 2, f"f{n}"),), f"torch.sin(q_{n - 1})") for n in range(300)]
    assert found(40, *more) == ()


def test_without_source_the_line_is_told():
    (loop,) = found(60, source="")
    assert not loop.loop and loop.line in (8, 9) and loop.times in (60, 120)


def test_a_loop_of_a_library_is_the_programs_line():
    library = "/usr/lib/python3/site-packages/models/net.py"
    sources = {FILE: SOURCE, library: "def f(self, x):\n    for layer in self.layers:\n        x = layer(x)\n"}
    stack = ((FILE, 12, "other"), (library, 3, "f"), ("/usr/lib/python3/site-packages/models/layer.py", 1, "forward"))
    stacks = [(f"sin_{n}", stack) for n in range(120)]
    text = "".join(f"        sin_{n} = torch.sin(l_x_)\n" for n in range(120))
    (loop,) = unrolled_loops(stacks, text, lambda path: sources.get(path, ""))
    assert (loop.line, loop.calls, loop.loop, loop.times) == (12, "layer", False, 120)


def test_loops_of_torchs_optimizers_are_none():
    stack = ((FILE, 4, "step"), ("/usr/lib/python3/site-packages/torch/optim/adam.py", 400, "_single_tensor_adam"))
    stacks = [(f"mul_{n}", stack) for n in range(120)]
    assert unrolled_loops(stacks, "", lambda path: "") == ()


def test_what_is_looped_over_is_not_what_is_repeated():
    source = "def forward(self, x):\n    for _ in range(60): x = self.cell(x)\n    return x\n\n\n\n\n\n\n"
    stacks = [(f"relu_{n}", ((FILE, 2, "forward"), RELU)) for n in range(120)]
    text = "".join(f"        relu_{n} = torch.relu(x_{n})\n" for n in range(120))
    (loop,) = unrolled_loops(stacks, text, lambda path: source)
    assert loop.calls == "self.cell" and loop.line == 2
