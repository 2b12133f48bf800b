"""Random ``and``, ``or``, ``not``, conditional expressions and comparisons, in all places where a value or a test stands.

``make(seed, version)`` gives the text of a module of a few functions, each a statement or two with such expressions, inside
of ``with``, ``try``, loops, matches and comprehensions; the same seed gives the same text.  Every operand is another name, so that a
difference shows.  Tests of constants and ``not not`` are left out: no bytecode tells them.
"""

from __future__ import annotations

import random

Version = tuple[int, int]
NAMES = "a b c d e f g h i j k m n o p q r s t u v w".split()


class Booleans:
    """One module; each method gives the text of an expression or the lines of a statement."""

    def __init__(self, seed: int, version: Version) -> None:
        self.random = random.Random(seed)
        self.version = version
        self.used = 0

    def name(self) -> str:
        self.used += 1
        return NAMES[self.used % len(NAMES)]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def atom(self, tested: bool) -> str:
        roll = self.random.random()
        if roll < 0.75 or tested and roll > 0.95:
            return self.name()
        if roll < 0.85:
            return f"{self.name()}.x"
        if roll < 0.95:
            return f"{self.name()}({self.name()})"
        return self.random.choice(("1", "'s'", "None", "()"))

    def operand(self, depth: int, tested: bool = False) -> str:
        """An operand in parentheses where it has operators of its own; ``tested``: it decides where control goes."""
        text = self.value(depth, tested)
        return f"({text})" if " " in text else text

    def tested(self, depth: int) -> str:
        return self.operand(depth, True)

    def boolean(self, depth: int, tested: bool) -> str:
        word = self.random.choice((" and ", " or "))
        parts = [self.tested(depth - 1) for _ in range(self.random.choice((1, 1, 2)))]
        return word.join([*parts, self.operand(depth - 1, tested)])

    def comparison(self, depth: int) -> str:
        parts = [self.tested(depth - 1)]
        for _ in range(self.random.choice((1, 1, 2, 3))):
            parts += [self.random.choice(("<", "==", "is", "is not", "in", "not in")), self.tested(depth - 1)]
        if self.chance(0.25):
            parts[-2:] = [self.random.choice(("is", "is not")), "None"]
        return " ".join(parts)

    def conditional(self, depth: int, tested: bool) -> str:
        yes, no = self.operand(depth - 1, tested), self.operand(depth - 1, tested)
        return f"{yes} if {self.tested(depth - 1)} else {no}"

    def negation(self, depth: int) -> str:
        text = self.tested(depth - 1)
        return f"not {self.name()}" if text.startswith("(not ") else f"not {text}"

    def value(self, depth: int, tested: bool = False) -> str:
        if depth <= 0:
            return self.atom(tested)
        roll = self.random.random()
        if roll < 0.5:
            return self.boolean(depth, tested)
        if roll < 0.62:
            return self.comparison(depth)
        if roll < 0.74:
            return self.conditional(depth, tested)
        if roll < 0.82:
            return self.negation(depth)
        if roll < 0.88:
            return f"{self.name()}({self.value(depth - 1)}, {self.value(depth - 1)})"
        return self.atom(tested)

    def test(self) -> str:
        return self.value(self.random.choice((1, 2, 2, 3)), True)

    def nested(self) -> str:
        return self.value(self.random.choice((2, 2, 3, 3)))

    def simple(self, loop: bool) -> list[str]:
        value = self.nested
        name = self.name()
        ways = [
            lambda: [f"{name} = {value()}"],
            lambda: [f"{name}({value()})"],
            lambda: [f"{name}({self.atom(False)}, {value()}, k={value()})"],
            lambda: [f"{name}.x = {value()}"],
            lambda: [f"{name}[{value()}] = {value()}"],
            lambda: [f"{name} += {value()}"],
            lambda: [f"return {value()}"],
            lambda: [value()],
            lambda: [f"{name} = [{value()}, {value()}]"],
            lambda: [f"{name} = f'{{{self.operand(2)}}}'"],
            lambda: [f"{name} = ({self.name()} := {value()})"],
            lambda: [f"{name} = yield {value()}"],
            lambda: [f"assert {self.test()}"],
            lambda: [f"assert {self.test()}, {value()}"],
            lambda: [f"raise {name}({value()})"],
            lambda: [f"{name} = lambda: {value()}"],
            lambda: [f"{name} = [{value()} for {self.name()} in {self.operand(2)} if {self.tested(2)}]"],
            lambda: [f"{name} = any({value()} for {self.name()} in {self.operand(2)} if {self.tested(2)})"],
            lambda: [f"del {name}[{value()}]"],
        ]
        if loop:
            ways += [lambda: [f"if {self.test()}:", f"    {self.random.choice(('break', 'continue'))}"]] * 3
        return self.random.choice(ways)()

    def block(self, depth: int, loop: bool) -> list[str]:
        lines = self.statement(depth, loop)
        if self.chance(0.3) and not lines[-1].lstrip().startswith(("return", "raise", "break", "continue")):
            lines += self.statement(depth, loop)
        return ["    " + line for line in lines]

    def statement(self, depth: int, loop: bool) -> list[str]:
        if depth <= 0 or self.chance(0.25):
            return self.simple(loop)
        inner = depth - 1
        name = self.name()
        ways = [
            lambda: [f"if {self.test()}:", *self.block(inner, loop)],
            lambda: [f"if {self.test()}:", *self.block(inner, loop), "else:", *self.block(inner, loop)],
            lambda: [f"if {self.test()}:", *self.block(inner, loop), f"elif {self.test()}:", *self.block(inner, loop)],
            lambda: [f"while {self.test()}:", *self.block(inner, True)],
            lambda: [f"for {name} in {self.operand(2)}:", *self.block(inner, True)],
            lambda: [f"with {self.operand(2)}:", *self.block(inner, loop)],
            lambda: [f"with {name}:", *self.block(inner, loop)],
            lambda: [f"with {name} as {self.name()}:", *self.block(inner, loop)],
            lambda: ["try:", *self.block(inner, loop), "except E:", *self.block(inner, loop)],
            lambda: ["try:", *self.block(inner, loop), f"except E as {name}:", *self.block(inner, loop)],
            lambda: ["try:", *self.block(inner, loop), "except E:", "    pass"],
            lambda: ["try:", *self.block(inner, loop), "finally:", *self.block(inner, False)],
        ]
        if self.version >= (3, 10):
            ways.append(
                lambda: (
                    [f"match {self.operand(2)}:", f"    case 1 if {self.test()}:"]
                    + ["    " + line for line in self.block(inner, loop)]
                    + ["    case _:"]
                    + ["    " + line for line in self.block(inner, loop)]
                )
            )
        return self.random.choice(ways)()

    def function(self, number: int) -> list[str]:
        self.used = self.random.randrange(len(NAMES))
        lines = [f"def fn{number}(a, b, c):"]
        for _ in range(self.random.choice((1, 1, 2))):
            lines += self.block(self.random.choice((1, 1, 2, 2, 3)), False)
        return lines


def make(seed: int, version: Version, functions: int = 10) -> str:
    """The text of one module."""
    booleans = Booleans(seed, version)
    lines: list[str] = []
    for number in range(functions):
        lines += booleans.function(number)
    return "\n".join(lines) + "\n"
