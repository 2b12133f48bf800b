"""Random Python expressions of one version, put into each other at random (``randomsource.py``)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

Version = tuple[int, int]
NAMES = ("a", "b", "c", "x", "y", "z")
GLOBALS = ("f", "g", "h", "log", "items")
ATTRIBUTES = ("m", "n", "size")
OPERATORS = ("+", "-", "*", "/", "//", "%", "@", "**", "<<", "&", "|", "^")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not")
ERRORS = ("ValueError", "KeyError", "OSError", "h.Error", "(KeyError, OSError)")


@dataclass(frozen=True)
class Place:
    """What is allowed where a statement stands."""

    function: str = "module"
    """module, class, plain, generator, async, or asyncgen."""
    loop: bool = False
    """``break`` and ``continue`` are allowed."""
    leave: bool = True
    """``return`` is allowed (not in ``except*``)."""
    handling: bool = False
    """A bare ``raise`` says something."""

    @property
    def body(self) -> bool:
        return self.function not in ("module", "class")

    @property
    def asynchronous(self) -> bool:
        return self.function in ("async", "asyncgen")

    @property
    def yields(self) -> bool:
        return self.function in ("generator", "asyncgen")


@dataclass(frozen=True)
class Inside:
    """What is allowed where an expression stands."""

    place: Place
    walrus: bool = True
    suspend: bool = True
    """``await`` and ``yield``."""
    names: tuple[str, ...] = NAMES
    nested: bool = False
    """Inside of a comprehension or a lambda."""


class Expressions:
    """Each method gives the text of one expression."""

    def __init__(self, seed: int, version: Version) -> None:
        self.random = random.Random(seed)
        self.version = version
        self.theme: tuple[str, ...] = ()
        self.jumped: list[set[str]] = []
        """For each loop around: whether a ``break`` leaves it, and a ``continue`` goes back."""
        self.number = 0
        self.deep = 2
        """How deep expressions of this function nest."""

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def choose(self, *ways: Callable[[], str]) -> str:
        return self.random.choice(ways)()

    def name(self, inside: Inside) -> str:
        return self.random.choice(inside.names)

    def fresh(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    def atom(self, inside: Inside) -> str:
        roll = self.random.random()
        if roll < 0.6:
            return self.name(inside)
        if roll < 0.75:
            return f"{self.name(inside)}.{self.random.choice(ATTRIBUTES)}"
        if roll < 0.85:
            return self.random.choice(GLOBALS)
        if roll < 0.93:
            return f"{self.random.choice(GLOBALS)}({self.name(inside)})"
        return self.constant()

    def constant(self) -> str:
        return self.random.choice(
            ("0", "1", "-1", "2.5", "'s'", "'a b'", "b'x'", "None", "True", "...", "''", "10**3", "(1, 2)")
        )

    def primary(self, inside: Inside, depth: int) -> str:
        """An operand without an operator outside of brackets."""
        text = self.expression(inside, depth)
        return text if text.isidentifier() or text.replace(".", "").isidentifier() else f"({text})"

    def expression(self, inside: Inside, depth: int) -> str:
        if depth <= 0 or self.chance(0.25):
            return self.atom(inside)
        ways = [
            self.binary,
            self.comparison,
            self.boolean,
            self.boolean,
            self.conditional,
            self.call,
            self.call,
            self.display,
            self.subscript,
            self.negation,
            self.text,
            self.comprehension,
            self.function,
        ]
        if inside.walrus:
            ways.append(self.walrus)
        if inside.suspend and inside.place.body and inside.place.function != "plain":
            ways += [self.suspension, self.suspension]
        return self.random.choice(ways)(inside, depth - 1)

    def binary(self, inside: Inside, depth: int) -> str:
        return f"{self.primary(inside, depth)} {self.random.choice(OPERATORS)} {self.name(inside)}"

    def comparison(self, inside: Inside, depth: int) -> str:
        parts = [self.primary(inside, depth)]
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            operator = self.random.choice(COMPARISONS)
            right = self.primary(inside, depth - 1)
            if operator.startswith("is") and self.chance(0.5):
                right = "None"
            elif operator in ("in", "not in"):
                right = self.random.choice((self.name(inside), "(1, 2)", "'abc'", f"({self.name(inside)}, 1)"))
            parts += [operator, right]
        return " ".join(parts)

    def boolean(self, inside: Inside, depth: int) -> str:
        word = self.random.choice((" and ", " or "))
        parts = [self.primary_condition(inside, depth) for _ in range(self.random.choice((2, 2, 3)))]
        return word.join(parts)

    def primary_condition(self, inside: Inside, depth: int) -> str:
        roll = self.random.random()
        if roll < 0.4:
            return self.name(inside)
        if roll < 0.6:
            return f"({self.comparison(inside, depth - 1)})"
        if roll < 0.8 and depth > 0:
            return f"({self.boolean(inside, depth - 1)})"
        return f"({self.negation(inside, depth - 1)})" if roll < 0.9 else self.nonconstant(inside, depth)

    def nonconstant(self, inside: Inside, depth: int) -> str:
        text = self.primary(inside, depth)
        return text if text.isidentifier() or text[-1] == ")" and "(" in text[1:] else self.name(inside)

    def conditional(self, inside: Inside, depth: int) -> str:
        yes, no = self.nonconstant(inside, depth), self.nonconstant(inside, depth)
        if yes == no:
            no = f"f({no})"  # the same twice is one return
        return f"{yes} if {self.condition(inside, depth)} else {no}"

    def condition(self, inside: Inside, depth: int) -> str:
        roll = self.random.random()
        if roll < 0.3:
            return self.name(inside)
        if roll < 0.5:
            return self.comparison(inside, depth)
        if roll < 0.75:
            return self.boolean(inside, depth)
        if roll < 0.85:
            return self.negation(inside, depth)
        if roll < 0.9 and depth > 1:
            return f"({self.conditional(inside, depth - 1)})"
        if roll < 0.94 and inside.walrus:
            return self.walrus(inside, depth)
        return f"{self.random.choice(GLOBALS)}({self.expression(inside, depth - 1)})"

    def negation(self, inside: Inside, depth: int) -> str:
        if self.chance(0.2):
            return f"-{self.name(inside)}"
        if depth > 0 and self.chance(0.3):
            return f"not ({self.boolean(inside, depth)})"
        return f"not {self.name(inside)}"

    def arguments(self, inside: Inside, depth: int) -> str:
        parts = [self.expression(inside, depth) for _ in range(self.random.choice((0, 1, 1, 2)))]
        parts = [f"({part})" if ":=" in part or part.startswith("yield") else part for part in parts]
        if self.chance(0.15):
            parts.append(f"*{self.primary(inside, depth)}")
            if self.chance(0.3):
                parts.append(self.name(inside))
        if self.chance(0.2):
            parts.append(f"key={self.primary(inside, depth)}")
        if self.chance(0.1):
            parts.append(f"**{self.primary(inside, depth)}")
        return ", ".join(parts)

    def call(self, inside: Inside, depth: int) -> str:
        callee = self.random.choice(("f", "g", "x.m", "a.n", "log", f"{self.name(inside)}.size.m"))
        return f"{callee}({self.arguments(inside, depth)})"

    def display(self, inside: Inside, depth: int) -> str:
        parts = [self.primary(inside, depth) for _ in range(self.random.choice((1, 2, 3)))]
        if self.chance(0.2):
            parts.append(f"*{self.name(inside)}")
        text = ", ".join(parts)
        roll = self.random.random()
        if roll < 0.35:
            return f"[{text}]"
        if roll < 0.7:
            return f"({text},)"
        if roll < 0.8:
            return f"{{{text}}}"
        pairs = [f"{self.random.choice(('1', repr('k'), 'x'))}: {part}" for part in parts if not part.startswith("*")]
        if self.chance(0.2):
            pairs.insert(self.random.randrange(len(pairs) + 1), f"**{self.name(inside)}")
        return "{" + ", ".join(pairs) + "}"

    def subscript(self, inside: Inside, depth: int) -> str:
        index = self.choose(
            lambda: self.atom(inside),
            lambda: self.primary(inside, depth),
            lambda: f"{self.name(inside)}:",
            lambda: f":{self.name(inside)}",
            lambda: f"{self.name(inside)}:{self.primary(inside, depth)}",
            lambda: f"::{self.name(inside)}",
            lambda: f"{self.name(inside)}, {self.name(inside)}:",
        )
        return f"{self.name(inside)}[{index}]"

    def text(self, inside: Inside, depth: int) -> str:
        fields = ["pre "]
        for _ in range(self.random.choice((1, 2))):
            value = self.random.choice((self.name(inside), f"{self.name(inside)}.m", f"f({self.name(inside)})"))
            spec = self.random.choice(
                ("", "", "", "!r", ":>4", f":{{{self.name(inside)}}}", f"!s:>{{{self.name(inside)}}}")
            )
            fields.append(f"{{{value}{spec}}}")
            fields.append(self.random.choice(("", " and ", "%")))
        prefix = "t" if self.version >= (3, 14) and self.chance(0.3) else "f"
        return f"{prefix}'{''.join(fields)}'"

    def comprehension(self, inside: Inside, depth: int) -> str:
        within = replace(
            inside,
            suspend=False,
            walrus=inside.walrus and inside.place.function != "class",
            names=(*inside.names, "i", "i", "j"),
            nested=True,
        )
        first = replace(inside, walrus=False, suspend=False)
        later = replace(within, walrus=False)
        asynchronous = inside.place.asynchronous and not inside.nested and inside.suspend
        clauses = []
        for number, target in enumerate(("i", "j")[: self.random.choice((1, 1, 1, 2))]):
            source = self.primary(later if number else first, depth - 1)
            word = "async for" if asynchronous and self.chance(0.4) else "for"
            target = f"({target}, k)" if self.chance(0.2) else target
            clauses.append(f"{word} {target} in {source}")
            for _ in range(self.random.choice((0, 0, 1, 1, 2))):
                clauses.append(f"if {self.bracketed(self.condition(within, depth))}")
        tail = " ".join(clauses)
        element = self.primary(within, depth)
        roll = self.random.random()
        if roll < 0.4:
            return f"[{element} {tail}]"
        if roll < 0.55:
            return f"{{{element} {tail}}}"
        if roll < 0.75:
            return f"{{{self.atom(within)}: {element} {tail}}}"
        return f"f({element} {tail})"

    def bracketed(self, text: str) -> str:
        return f"({text})" if ":=" in text or " if " in text or "lambda" in text else text

    def function(self, inside: Inside, depth: int) -> str:
        within = replace(
            inside,
            suspend=False,
            walrus=False,
            nested=True,
            place=replace(inside.place, function="plain"),
            names=(*inside.names, "v"),
        )
        parameters = self.random.choice(("", "v", "v=a", "v, *w", "*, v=None", "v, /, w=x, **k"))
        if not parameters:
            within = replace(within, names=inside.names)
        return f"lambda {parameters}: {self.primary(within, depth)}".replace("lambda :", "lambda:")

    def walrus(self, inside: Inside, depth: int) -> str:
        return f"({self.random.choice(('x', 'y', 'w'))} := {self.primary(inside, depth)})"

    def suspension(self, inside: Inside, depth: int) -> str:
        place = inside.place
        ways = []
        if place.asynchronous:
            ways.append(f"(await {self.random.choice(GLOBALS)}({self.name(inside)}))")
        if place.yields:
            ways.append(f"(yield {self.primary(inside, depth)})")
        if place.function == "generator":
            ways.append(f"(yield from {self.primary(inside, depth)})")
        return self.random.choice(ways)
