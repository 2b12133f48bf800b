"""What becomes of a value in a function: the kinds of uses, each on its smallest function."""

from __future__ import annotations

import textwrap

import pytest

from depyf.run.uses.use_kinds import PlacedUse, ValueUse
from depyf.run.uses.value_uses import indexed_by, placed_uses_of, reads_used_at, uses_at, uses_of

BODIES = {
    # a branch
    "if x.sum().item() > 100: y = 1": "branch",
    "n = x.item(); m = n * 2 + 1\nif m: y = 1": "branch",
    "ok = not x.any().item()\nreturn y if ok else x": "branch",
    "ok = x.item() > 3 and y": "branch",
    "match x.item():\n    case 1: pass": "branch",
    "return [v for v in y if x.item()]": "branch",
    "self.n = x.item()\nif self.n: y = 1": "branch stored",
    "if int(x.max()) > 3: y = 1": "branch",
    "if bool((x > 0).all()): y = 1": "branch",
    "for v in x.tolist():\n    if v > 2: y = 1": "branch",
    "n = 0\nfor i in range(3):\n    if n: y = 1\n    n = x.item()": "branch",
    "if y: n = x.item()\nelse: n = 0\nif n > 1: return y": "branch",
    "try: n = x.item()\nexcept ValueError: n = 0\nif n > 1: y = 1": "branch",
    # a check
    "assert x.item() > 0, 'message'": "check",
    "n = x.item()\nif n > 9: raise ValueError(f'{n}')": "check log",
    # a loop
    "for i in range(x.item()): y = y + 1": "loop",
    "while x.item() > 0: x = x - 1": "loop",
    "n = int(x.max())\nreturn [y for i in range(n + 1)]": "loop",
    # an index, a size
    "return y[x.item()]": "index",
    "n = x.item()\nreturn y[:, :n - 1]": "index",
    "return y.narrow(0, 0, x.item())": "size",
    "return y.select(0, x.item())": "index",
    "return self.table.get(x.item())": "key",
    "weights = [1.0, 2.0]\nreturn y * weights[x.item()]": "key",
    "table = {0: y}\nreturn table[x.item()]": "key",
    "return torch.zeros(x.item(), 3)": "size",
    "n = x.max().item()\nreturn torch.arange(n)": "size",
    "sizes = (x.item(), 4)\nreturn y.view(sizes)": "size",
    "return y.split(x.tolist())": "size",
    "return [0] * x.item()": "size",
    "n = x.item() + y.shape[0]\nreturn torch.ones(n)": "size",
    "y = torch.zeros(3)\ny[0] = x.item()\nreturn y": "arithmetic",
    "return y.repeat_interleave(x.item())": "size",
    "return self.experts[x.item()](y)": "branch",
    "n = x.item()\nif n > 9:\n    print(n)\n    raise ValueError": "check log",
    "return F.one_hot(y, x.item())": "constant",
    # a log
    "print(x.item())": "log",
    "self.logger.info('loss %s', x.item())": "log",
    "print(f'{x.item():.3f}')": "log",
    "text = 'loss {}'.format(x.item())\nprint(text)": "log",
    "text = 'loss %s' % x.item()\nlogging.warning(text)": "log",
    "raise ValueError('bad ' + str(x.item()))": "log",
    "self.writer.add_scalar('loss', x.item(), 3)": "log",
    # arithmetic
    "return y * x.item()": "arithmetic",
    "scale = 1 / x.abs().max().item()\ny = y * scale\nreturn y.relu().sum()": "arithmetic",
    "return torch.clamp(y, max=x.item())": "arithmetic",
    "return torch.full((3, 3), x.item())": "arithmetic",
    "return y.masked_fill(y > x.item(), 0)": "arithmetic",
    "return y[y > x.item()]": "arithmetic",
    "return torch.tensor(x.item())": "arithmetic",
    "y += x.item()": "arithmetic",
    # it leaves the function
    "return x.item()": "returned",
    "return {'loss': x.item()}": "returned",
    "out = []\nfor i in range(3): out.append(x.item())\nreturn out": "returned",
    "yield x.item()": "returned",
    "self.last = x.item()": "stored",
    "self.history.append(x.item())": "stored",
    "global total\ntotal = x.item()": "stored",
    "memory[3] = x.item()": "stored",
    "y['loss'] = x.item()": "stored",
    # not known, or nothing
    "return self.other(x.item())": "unknown",
    "n = x.item()\ndef inner(): return n\nreturn inner": "unknown",
    "n = x.item()": "",
    "n = x.item()\nn = 3\nreturn y[n]": "",
    "return len(x.tolist())": "",
    "return y": "unknown",  # it is not there
    # what is bound in the function is no builtin
    "print = self.show\nprint(x.item())": "unknown",
    # several
    "n = x.item()\nprint(n)\nif n > 1: return y[n]": "log branch index",
}


def function(body: str) -> str:
    lines = "\n".join(one for one in body.split("\n"))
    return "def f(self, x, y):\n" + textwrap.indent(lines, "    ") + "\n"


def read_in(body: str) -> str:
    for read in ("x.max()", "(x > 0).all()"):
        for call in ("int", "bool"):
            if f"{call}({read})" in body:
                return f"{call}({read})"
    tail = next((name for name in ("tolist", "item") if f".{name}()" in body), "")
    chain = next((one for one in ("x.sum()", "x.any()", "x.max()", "x.abs().max()") if f"{one}.{tail}" in body), "x")
    return f"{chain}.{tail}()"


@pytest.mark.parametrize("body", BODIES)
def test_uses(body):
    assert {use.value for use in uses_of(function(body), read_in(body))} == set(BODIES[body].split())


SOURCE = """\
class Cache:
    def look(self, x, cache):
        keys = cache[self.layer_idx]
        if self.layer_idx > 3: return keys
        return self.run(keys, name=f"{self.layer_idx}")

    @property
    def other(self):
        first = self.x.item(); return first[
            self.y.item()]
"""


AROUND = """\
TABLE = [1.0, 2.0]
WEIGHTS = torch.ones(3)

class Net(nn.Module):
    def __init__(self):
        self.layers = nn.ModuleList([nn.Linear(3, 3)])
        self.names: list = []
        self.scale = torch.ones(3)

    def forward(self, x):
        n = x.item()
        a = TABLE[n]
        b = WEIGHTS[n]
        c = self.layers[n]
        d = self.names[n]
        e = self.scale[n]
        for i in range(n): pass
        self.names.append(n)
        TABLE.append(n)
"""


def test_what_is_known_of_names_around_the_function():
    lines = AROUND.splitlines(True)
    assert [reads_used_at(lines, line) for line in range(10, 20)] == [
        set(),
        set(),
        {ValueUse.KEY},
        {ValueUse.INDEX},
        {ValueUse.BRANCH},
        {ValueUse.KEY},
        {ValueUse.INDEX},
        {ValueUse.LOOP},
        {ValueUse.STORED},
        {ValueUse.STORED},
    ]
    everything = {ValueUse.KEY, ValueUse.INDEX, ValueUse.BRANCH, ValueUse.LOOP, ValueUse.STORED}
    assert uses_at(lines, 11) == everything
    assert reads_used_at(["f(:"], 1) == set()


def test_an_attribute_wherever_it_is_read():
    method = "".join(SOURCE.splitlines(True)[1:5])
    assert uses_of(method, "self.layer_idx") == {ValueUse.INDEX, ValueUse.BRANCH, ValueUse.UNKNOWN}
    assert placed_uses_of(method, "self.layer_idx", first=12) == (
        PlacedUse(13, ValueUse.INDEX),
        PlacedUse(14, ValueUse.BRANCH),
        PlacedUse(15, ValueUse.UNKNOWN),
    )


def test_one_line_of_a_method():
    method = "".join(SOURCE.splitlines(True)[1:5])
    assert uses_of(method, "self.layer_idx", line=14, first=12) == {ValueUse.BRANCH}


def test_a_line_of_a_file():
    lines = SOURCE.splitlines(True)
    assert uses_at(lines, 3, "self.layer_idx") == {ValueUse.INDEX}
    assert uses_at(lines, 10) == {ValueUse.INDEX}, "without an expression: what is read out of a tensor there"
    assert uses_at(lines, 10, "self.y.item()") == {ValueUse.INDEX}
    assert uses_at(lines, 3, "self.y.item(") == {ValueUse.UNKNOWN}
    assert uses_at(["def f(x):", "    if x.any():", "        raise ValueError"], 2) == {ValueUse.CHECK}
    assert uses_at(["f(x.item())"], 1) == {ValueUse.UNKNOWN}


@pytest.mark.parametrize("text", ("", "def f(:", "def f():\n\0", "(" * 5000, "x = " + "-" * 3000 + "y.item()"))
def test_what_cannot_be_read(text):
    assert uses_of(text, "y.item()") == {ValueUse.UNKNOWN}


def test_many_loops_in_each_other():
    body = "".join("    " * depth + f"for i{depth} in range(3):\n" for depth in range(15))
    body += "    " * 15 + "".join(f"v{n} = v{n - 1}; " for n in range(30, 0, -1)) + "v0 = x.item()\n"
    assert uses_of(function(body + "if v9: return y"), "x.item()") == {ValueUse.BRANCH}


def test_what_a_number_is_an_index_of():
    source = "def f(self, x, packed):\n    n = packed['len']\n    return self.kv(x)[:n] + self.k[packed['len']]\n"
    assert indexed_by(source, "packed['len']") == {"self.kv(x)", "self.k"}
    assert indexed_by("def f(:", "n") == frozenset()


@pytest.mark.parametrize(("test", "index"), [("n in cache", True), ("n not in cache", True), ("n in (1, 2)", False)])
def test_a_number_that_is_looked_up(test, index):
    assert (ValueUse.INDEX in uses_of(f"def f(n, cache):\n    if {test}:\n        return 1\n", "n")) is index
