"""Programs with something planted that costs: where it is, and how much, counted by hand.

A line that ends in ``# here`` is the one that has to be named; one that ends in ``# with`` is that of the second kernel.
``call`` makes the arguments and calls ``program``.
"""

from __future__ import annotations

from dataclasses import dataclass

ROWS, COLUMNS = 768, 1024
WHOLE = 4 * ROWS * COLUMNS
"""Bytes of a matrix of float32."""


@dataclass(frozen=True)
class MovedProgram:
    """A program of which the kernels move memory that they need not."""

    name: str
    kind: str
    """As ``CostKind`` has it."""
    source: str
    bytes: int
    reason: str = ""
    """As the record has it; "": any."""
    options: tuple[tuple[str, object], ...] = ()
    """Of torch.compile."""


_HEAD = f"""\
import torch
from torch import nn

x = torch.rand({ROWS}, {COLUMNS})
y = torch.rand({ROWS}, {COLUMNS})

"""


def _moved(name: str, kind: str, size: int, body: str, reason: str = "", **options: object) -> MovedProgram:
    return MovedProgram(name, kind, _HEAD + body.strip("\n") + "\n", size, reason, tuple(options.items()))


MOVED = (
    _moved("softmax_then_columns", "not fused", WHOLE, """
def program(x, y):
    likely = x.softmax(-1)  # here
    used = likely.sum(0)  # with
    return likely, used
"""),
    _moved("rows_and_columns", "not fused", WHOLE, """
def largest_of_rows(x):
    return x.amax(1)  # here

def program(x, y):
    rows = largest_of_rows(x)
    columns = x.amax(0)  # with
    return rows, columns
"""),
    _moved("other_row", "not fused", WHOLE + 8 * ROWS, """
class Net(nn.Module):
    def forward(self, x, y):
        scale = x.sum(1)  # here
        return x * scale.flip(0)[:, None]  # with

program = Net()
"""),
    _moved("too_many", "not fused", WHOLE, """
def program(x, y):
    a = x.sin()
    b = x.cos()  # here
    c = x.tanh()  # with
    return a, b, c
""", "exceeds max fusion", max_fusion_size=2),
    _moved("cumulative", "fallback", 2 * WHOLE, """
def program(x, y):
    z = torch.cumsum(x, 1)  # here
    return z + y
""", "chosen by its lowering"),
    _moved("ordered", "fallback", 2 * WHOLE + 2 * WHOLE, """
def program(x, y):
    values, places = torch.sort(x * y)  # here
    return values, places
"""),
    _moved("own_operator", "fallback", 2 * WHOLE, """
@torch.library.custom_op("billprograms::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@twice.register_fake
def _(x):
    return torch.empty_like(x)

def program(x, y):
    return twice(x) + y  # here
""", "custom operator"),
    _moved("histogram", "fallback", WHOLE, """
def program(x, y):
    bins = torch.histc(x, 64)  # here
    return bins.softmax(0)
""", "no lowering"),
    _moved("transposed", "copy", 2 * WHOLE, """
def program(x, y):
    turned = x.t().contiguous()  # here
    return turned
""", "asked"),
    _moved("joined", "copy", 4 * WHOLE, """
def program(x, y):
    both = torch.cat([x, y])  # here
    return both
""", "joined"),
    _moved("kept_in_a_buffer", "copy", 2 * WHOLE, """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros_like(x))

    def forward(self, x, y):
        self.last.copy_(x)  # here
        return y.sum()

program = Net()
""", "written back"),
    _moved("every_second_column", "copy", WHOLE, """
def program(x, y):
    half = x[:, ::2].clone()  # here
    return half
""", "asked"),
)  # fmt: skip


@dataclass(frozen=True)
class TracedProgram:
    """A program of which one line takes most of the tracing."""

    name: str
    source: str
    calls: int
    """How often the marked line calls what is traced."""
    called: str


_SMALL = """\
import torch
from torch import nn

x = torch.ones(4)
y = torch.ones(4)

"""


def _traced(name: str, calls: int, called: str, body: str) -> TracedProgram:
    return TracedProgram(name, _SMALL + body.strip("\n") + "\n", calls, called)


TRACED = (
    _traced("layers", 24, "Block.forward", """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.lin(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(24))

    def forward(self, x, y):
        for block in self.blocks:
            x = block(x)  # here
        return x + y

program = Net()
"""),
    _traced("while_loop", 30, "once", """
def once(x):
    for _ in range(10):
        x = x.sin()
    return x

def short(x):
    return x + 1

def program(x, y):
    n = 0
    x = short(x)
    while n < 30:
        x = once(x)  # here
        n += 1
    return x
"""),
    _traced("raises_inside", 8, "checked", """
def checked(x, n):
    for _ in range(20):
        x = x * 2
    if n % 2:
        raise ValueError(n)
    return x

def program(x, y):
    for n in range(8):
        try:
            x = checked(x, n)  # here
        except ValueError:
            x = x - 1
    return x
"""),
    _traced("generator", 2, "sum", """
def parts(x):
    for n in range(30):
        yield x * n

def short(x):
    return x + 1

def program(x, y):
    x = short(x)
    return sum(parts(x))  # here
"""),
)  # fmt: skip


@dataclass(frozen=True)
class GuardedProgram:
    """A program with many guards, most of them of one line."""

    name: str
    source: str
    calls: tuple[str, ...] = ()
    """Statements that make a guard fail, and call again."""
    failed: int = 0


GUARDED = (
    GuardedProgram("many_globals", _SMALL + """
scales = {f"s{n}": float(n) for n in range(120)}

def program(x, y):
    for name in scales:
        x = x * scales[name]  # here
    return x + y
"""),
    GuardedProgram("many_settings", _SMALL + """
class Settings:
    pass

settings = [Settings() for _ in range(60)]
for number, one in enumerate(settings):
    one.on = number % 2

def program(x, y):
    for one in settings:
        x = x + one.on  # here
    return x * y
""", ("module.settings[3].on = 7",), 1),
    GuardedProgram("many_layers", _SMALL + """
class Layer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x * self.n

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(float(n)) for n in range(40))

    def forward(self, x, y):
        for layer in self.layers:
            x = layer(x)  # here
        return x + y

program = Net()
"""),
)  # fmt: skip
