"""Random functions over tensors that break their graph anywhere (for ``breakfuzz.py``).

``source(seed)`` is the text of a module with ``fn(a, b, scale, count, items, table, box)``.  Its statements nest loops, branches,
``with``, ``try`` and functions; its expressions call ``apart``, which Dynamo does not trace, in every position.
"""

from __future__ import annotations

import random
from collections.abc import Callable

PREAMBLE = """
import contextlib

import torch

LOG = []


@torch._dynamo.disable
def apart(value=None):
    LOG.append(type(value).__name__)
    return value


@torch._dynamo.disable
def number(tensor):
    return float(tensor.detach().sum())


@torch._dynamo.disable
def refuse(count):
    if count:
        raise ValueError("refused")


@contextlib.contextmanager
def tagged(tag):
    LOG.append(tag)
    try:
        yield tag
    finally:
        LOG.append(-tag)


class Box:
    def __init__(self, value):
        self.value = value
        self.items = []

    def add(self, item):
        self.items.append(item)
        return self

    def total(self):
        return sum(self.items)

    @property
    def twice(self):
        return self.value * 2


def joined(*values, **named):
    result = 0.0
    for value in values:
        result = result + value
    for name in sorted(named):
        result = result - named[name]
    return result


def pair(value):
    return value, value + 1
"""
_DEEP = 2
_LEAVES = 12
"""How many kinds of statements have no block."""


class Writer:
    """Writes one program; every choice is ``chance``'s."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.made = 0
        self.tensors, self.floats, self.ints = ["a", "b"], ["scale"], ["count"]

    def name(self, kind: str) -> str:
        self.made += 1
        return f"{kind}{self.made}"

    def pick(self, choices: list[str]) -> str:
        return self.chance.choice(choices)

    def tensor(self, depth: int = 1) -> str:
        if depth > _DEEP or self.chance.random() < 0.2:
            return self.pick(self.tensors)
        t, f = (lambda: self.tensor(depth + 1)), (lambda: self.float(depth + 1))
        choices: list[Callable[[], str]] = [
            lambda: f"({t()} + {t()})",
            lambda: f"({t()} * {f()})",
            lambda: f"torch.sin({t()})",
            lambda: f"apart({t()})",
            lambda: f"({t()} if {self.test(depth + 1)} else {t()})",
            lambda: f"joined({t()}, {t()}, named={t()})",
            lambda: f"pair({t()})[{self.chance.randrange(2)}]",
            lambda: f"{t()}.clamp(min={f()})",
            lambda: f"torch.where({t()} > {f()}, {t()}, {t()})",
            lambda: f"torch.stack([{t()}, apart({t()}), {t()}]).sum(0)",
            lambda: f"dict(one={t()}, other=apart({t()}))['{self.pick(['one', 'other'])}']",
            lambda: f"joined(named=apart({t()}), *({t()},), **{{'other': {t()}}})",
            lambda: f"(lambda inner: inner + {t()})({t()})",
            lambda: f"sum([part * {f()} for part in ({t()}, {t()})])",
            lambda: f"sum([apart(part) for part in ({t()}, torch.cos({t()}))])",
            lambda: f"Box({f()}).add({t()}).add(apart({t()})).total()",
            lambda: f"({self.pick(self.tensors)} := torch.cos({t()}))",
            lambda: f"-{t()}",
            lambda: f"torch.stack([*[{t()}, {t()}], {t()}, *pair({t()})]).sum(0)",
            lambda: f"{{**table, 'new': {t()}, **{{'last': {t()}}}}}['{self.pick(['new', 'last', 'one'])}']",
            lambda: f"joined(*pair({t()}), {t()}, first={t()}, **{{'second': {t()}}}, third=apart({t()}))",
            lambda: f"[part for part in [{t()}, *items, {t()}] if part is not None][{self.pick(['0', '-1'])}]",
            lambda: f"{{at: apart(part) for at, part in enumerate(({t()}, {t()}))}}[{self.chance.randrange(2)}]",
            lambda: f"(lambda *parts, by={f()}: parts[-1] * by)({t()}, {t()})",
            lambda: f"{t()}.view(2, -1)[{self.int(depth + 1)} % 2].sum() + {t()}",
        ]
        return self.chance.choice(choices)()

    def float(self, depth: int = 1) -> str:
        if depth > _DEEP:
            return self.pick([*self.floats, "0.5", "2.0"])
        f = lambda: self.float(depth + 1)  # noqa: E731
        choices: list[Callable[[], str]] = [
            lambda: self.pick([*self.floats, "0.5", "2.0"]),
            lambda: f"number({self.tensor(depth + 1)})",
            lambda: f"({f()} + {f()})",
            lambda: f"float({self.int(depth + 1)})",
            lambda: f"apart({f()})",
            lambda: f"Box({f()}).twice",
            lambda: f"({f()} if {self.test(depth + 1)} else {f()})",
            lambda: f"max({f()}, 0.25)",
            lambda: f"max([{f()}, *[{f()}, {f()}]])",
            lambda: f"len(f'{{{f()}:.1f}} {{{self.int(depth + 1)}!r}}') / 2",
        ]
        return self.chance.choice(choices)()

    def int(self, depth: int = 1) -> str:
        if depth > _DEEP:
            return str(self.chance.randrange(4))
        i = lambda: self.int(depth + 1)  # noqa: E731
        choices: list[Callable[[], str]] = [
            lambda: str(self.chance.randrange(4)),
            lambda: self.pick(self.ints),
            lambda: f"apart({i()})",
            lambda: f"({i()} + {i()})",
            lambda: f"len([{self.tensor(depth + 1)}, 1])",
            lambda: f"len({{*(1, {i()}), {i()}}})",
            lambda: f"[{i()}, *range({i()}), {i()}][-1]",
        ]
        return self.chance.choice(choices)()

    def test(self, depth: int = 1) -> str:
        if depth > _DEEP:
            return f"{self.pick(self.ints)} > {self.chance.randrange(4)}"
        b, f = (lambda: self.test(depth + 1)), (lambda: self.float(depth + 1))
        choices: list[Callable[[], str]] = [
            lambda: f"{self.int(depth + 1)} > {self.chance.randrange(4)}",
            lambda: f"{self.tensor(depth + 1)}.sum() > {f()}",
            lambda: f"({b()} and {b()})",
            lambda: f"({b()} or {b()})",
            lambda: f"not {b()}",
            lambda: f"apart({f()}) < {f()}",
            lambda: f"0 < {f()} < apart(3.0)",
            lambda: f"{self.pick(self.tensors)} is not None",
            lambda: f"apart({self.int(depth + 1)}) in ({self.int(depth + 1)}, 2)",
        ]
        return self.chance.choice(choices)()

    def block(self, depth: int, indent: int, count: int | None = None, loop: bool = False) -> list[str]:
        before = list(self.tensors), list(self.floats), list(self.ints)
        lines = []
        for _ in range(count or self.chance.randint(1, 3)):
            lines += [" " * 4 * indent + line for line in self.statement(depth, loop)]
        self.tensors, self.floats, self.ints = before
        return lines

    def statement(self, depth: int, loop: bool = False) -> list[str]:
        """Lines of one statement, the first at the left margin."""
        compound = depth < 3 and self.chance.random() < 0.6
        kinds = [
            self.branch,
            self.loop,
            self.counted,
            self.manager,
            self.attempt,
            self.function,
            self.generator,
            self.deleted,
            self.matched,
        ]
        weights = [4, 4, 1, 4, 3, 1, 1, 2, 1]
        if compound:
            return self.chance.choices(kinds, weights)[0](depth, loop)
        return self.simple(loop)

    def simple(self, loop: bool) -> list[str]:
        t, tensors = self.tensor, self.tensors
        choices: list[Callable[[], str]] = [
            lambda: f"{self.pick(tensors)} = {t()}",
            lambda: f"{self.pick(tensors)} = {t()}",
            lambda: f"{self.pick(tensors)} = {t()}",
            lambda: f"{self.pick(self.floats)} {self.pick(['+=', '-='])} {self.float()}",
            lambda: f"items.append({t()})",
            lambda: f"table['{self.pick(['one', 'other'])}'] = {t()}",
            lambda: f"{self.pick(tensors)}, {self.pick(tensors)} = {t()}, {t()}",
            lambda: f"{self.pick(tensors)}, {self.pick(tensors)} = pair({t()})",
            lambda: f"{self.pick(self.ints)} = {self.int()}",
            lambda: f"apart({self.chance.choice([t, self.float, self.int])()})",
            lambda: f"box.value = {self.float()}",
            lambda: f"box.value {self.pick(['+=', '*='])} {self.float()}",
            lambda: f"table['one'] = {t()}; table['one'] {self.pick(['+=', '*='])} {t()}",
            lambda: f"{self.pick(self.ints)} += {self.int()}",
            lambda: f"{self.pick(tensors)}, *items[:0] = [{t()}]",
            lambda: f"{self.pick(tensors)} = items[-1] = {t()}" if loop else f"items.append({t()})",
            lambda: f"assert {self.test()} or True, {t()}",
            lambda: f"box.add({t()})",
            lambda: f"if {self.test()}: {self.pick(['break', 'continue']) if loop else 'return ' + t()}",
            lambda: "torch._dynamo.graph_break()",
        ]
        return [self.chance.choice(choices)()]

    def branch(self, depth: int, loop: bool) -> list[str]:
        lines = [f"if {self.test()}:", *self.block(depth + 1, 1, None, loop)]
        return lines + (["else:", *self.block(depth + 1, 1, None, loop)] if self.chance.random() < 0.6 else [])

    def loop(self, depth: int, loop: bool) -> list[str]:
        at, item = self.name("at"), self.name("item")
        heads = [
            (f"for {at} in range({self.chance.randint(1, 3)}):", True, False),
            (f"for {item} in [{self.tensor()}, {self.tensor()}]:", False, True),
            (f"for {at}, {item} in enumerate([{self.tensor()}, {self.tensor()}]):", True, True),
            (f"for {item}, {at} in zip(items, range(2)):", True, True),
        ]
        head, counts, holds = self.chance.choice(heads)
        before = self.tensors, self.ints
        self.tensors, self.ints = self.tensors + [item] * holds, self.ints + [at] * counts
        lines = [head, *self.block(depth + 1, 1, None, True)]
        self.tensors, self.ints = before
        return lines + (["else:", *self.block(depth + 1, 1)] if self.chance.random() < 0.2 else [])

    def counted(self, depth: int, loop: bool) -> list[str]:
        name = self.name("turn")
        head = [f"{name} = 0", f"while {name} < {self.chance.randint(1, 3)}:", f"    {name} += 1"]
        return head + self.block(depth + 1, 1, None, True)

    def manager(self, depth: int, loop: bool) -> list[str]:
        managers = ["torch.no_grad()", "tagged(3)", "torch.enable_grad()", "tagged(apart(4)) as tag"]
        second = ", tagged(5)" if self.chance.random() < 0.15 else ""
        return [f"with {self.pick(managers)}{second}:", *self.block(depth + 1, 1, None, loop)]

    def attempt(self, depth: int, loop: bool) -> list[str]:
        lines = ["try:", *self.block(depth + 1, 1, None, loop), f"    refuse({self.int()})"]
        kind = self.chance.random()
        if kind < 0.75:
            caught = self.pick(["ValueError", "(ValueError, KeyError) as error", "Exception"])
            lines += [f"except {caught}:", *self.block(depth + 1, 1, None, loop)]
        if kind < 0.2:
            lines += ["else:", *self.block(depth + 1, 1, None, loop)]
        return lines + (["finally:", *self.block(depth + 1, 1, 1)] if kind > 0.65 else [])

    def deleted(self, depth: int, loop: bool) -> list[str]:
        name, before = self.name("late"), self.tensors
        self.tensors = [*before, name]
        lines = [f"{name} = {self.tensor()}"]
        for _ in range(self.chance.randint(1, 3)):
            lines += self.simple(False)
        self.tensors = before
        return [line for line in lines if line != f"{name} = {name}"] + [f"del {name}"]

    def matched(self, depth: int, loop: bool) -> list[str]:
        subject = self.pick([self.int(), f"({self.int()}, {self.tensor()})", f"[{self.tensor()}, {self.int()}]"])
        patterns = ["0 | 1", "(1, found)", "[_, int() as found]", "(int(), _) if " + self.test(), "[*_]"]
        lines = [f"match {subject}:"]
        for pattern in self.chance.sample(patterns, 2):
            lines += [f"    case {pattern}:", *self.block(depth + 1, 2, 1, loop)]
        return lines

    def function(self, depth: int, loop: bool) -> list[str]:
        name, free = self.name("inner"), self.pick(["a", "b"])
        before = self.tensors
        changes = [f"    nonlocal {free}", f"    {free} = {free} + y"] if self.chance.random() < 0.3 else []
        self.tensors = [*before, "y"]
        lines = [f"def {name}(y, by={self.float()}):", *changes, f"    return {self.tensor()} * by"]
        self.tensors = before
        return [*lines, f"{self.pick(self.tensors)} = {name}({self.tensor()})"]

    def generator(self, depth: int, loop: bool) -> list[str]:
        name = self.name("each")
        given = self.pick(["part * 2", "apart(part)", "joined(part, a)"])
        head = [f"def {name}(parts):", "    for part in parts:", f"        yield {given}"]
        return [*head, f"items.extend({name}([{self.tensor()}, {self.tensor()}]))"]


def source(seed: int) -> str | None:
    """The module of ``seed``; None where Python refuses it (a ``nonlocal`` after a use, a walrus in a comprehension)."""
    writer = Writer(random.Random(seed))
    body = writer.block(1, 1)
    text = "\n".join(
        [
            PREAMBLE,
            "",
            "def fn(a, b, scale, count, items, table, box):",
            *body,
            "    return a, b, items, table, box.value, box.items, scale, count",
            "",
        ]
    )
    try:
        compile(text, "<random>", "exec")
    except SyntaxError:
        return None
    return text
