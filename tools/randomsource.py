"""Random Python modules: statements and expressions of one version, put into each other at random.

``make(seed, version)`` gives the text of a module of a few functions and classes; the same seed gives the same text.  Each
function takes a few kinds of statements (its *theme*) much oftener than the others, so that a small number of them meets in
many ways.  What no bytecode tells is left out: code that is never reached, tests and operators of constants alone, and
``return`` at the end of a function.

The text compiles on the version it is made for; it is never run.
"""

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


class Maker:
    """One module."""

    def __init__(self, seed: int, version: Version) -> None:
        self.random = random.Random(seed)
        self.version = version
        self.theme: tuple[str, ...] = ()
        self.jumped: list[set[str]] = []
        """For each loop around: whether a ``break`` leaves it, and a ``continue`` goes back."""
        self.number = 0
        self.deep = 2
        """How deep expressions of this function nest."""

    # Choices

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def choose(self, *ways: Callable[[], str]) -> str:
        return self.random.choice(ways)()

    def name(self, inside: Inside) -> str:
        return self.random.choice(inside.names)

    def fresh(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    # Expressions

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

    # Statements: each gives its lines and whether what follows it is reached

    def block(self, place: Place, depth: int, leave: float = 0.3) -> tuple[list[str], bool]:
        lines: list[str] = []
        for _ in range(self.random.choice((1, 1, 1, 2))):
            more, reached = self.statement(place, depth)
            lines += more
            if not reached:
                return lines, False
        if self.chance(leave):
            jump = self.jump(place, depth)
            if jump:
                return [*lines, jump], False
        return lines, True

    def inner(self, place: Place, depth: int, leave: float = 0.3) -> tuple[list[str], bool]:
        lines, reached = self.block(place, depth - 1, leave)
        return ["    " + line for line in lines], reached

    def jump(self, place: Place, depth: int) -> str:
        ways = ["raise"] if self.chance(0.3) else []
        ways += ["return"] * 2 * (place.body and place.leave) + ["break", "continue"] * place.loop
        if not ways:
            return ""
        way = self.random.choice(ways)
        if way == "raise":
            if place.handling and self.chance(0.5):
                return "raise"
            error = self.random.choice(("ValueError(x)", "h.Error", "KeyError"))
            return f"raise {error}{self.random.choice(('', '', ' from None', ' from y'))}"
        if way == "return":
            if place.function == "asyncgen" or self.chance(0.3):
                return "return"
            return f"return {self.expression(Inside(place), self.deep)}"
        self.jumped[-1].add(way)
        return way

    def statement(self, place: Place, depth: int) -> tuple[list[str], bool]:
        if depth <= 0 or self.chance(0.3):
            return [self.simple(place, self.deep)], True
        kinds = ["if", "if", "while", "for", "try", "finally", "with", "def", "class", "match", "star", "forever"]
        kind = self.random.choice((*kinds, *self.theme * 4))
        if kind == "match" and self.version < (3, 10) or kind == "star" and self.version < (3, 11):
            kind = "try"
        if kind in ("def", "class") and depth < 2:
            return [self.simple(place, self.deep)], True
        return getattr(self, f"_{kind}")(place, depth)  # type: ignore[no-any-return]

    def target(self, place: Place, depth: int) -> str:
        inside = Inside(place)
        return self.choose(
            lambda: self.name(inside),
            lambda: self.name(inside),
            lambda: self.name(inside),
            lambda: f"{self.name(inside)}.{self.random.choice(ATTRIBUTES)}",
            lambda: f"{self.name(inside)}[{self.atom(inside)}]",
            lambda: "a, b",
            lambda: "a, *b",
            lambda: "(a, b), x.m",
        )

    def simple(self, place: Place, depth: int) -> str:
        inside = Inside(place)

        def value() -> str:
            return self.expression(inside, depth)

        def one() -> str:
            attribute, item = f"x.{self.random.choice(ATTRIBUTES)}", f"y[{self.atom(inside)}]"
            return self.random.choice((self.name(inside), attribute, item))

        ways = [
            lambda: f"{self.target(place, depth)} = {value()}",
            lambda: f"{self.target(place, depth)} = {value()}",
            lambda: f"{self.target(place, depth)} = {one()} = {value()}",
            lambda: f"{one()} {self.random.choice(OPERATORS)}= {value()}",
            lambda: self.call(inside, depth),
            lambda: self.call(inside, depth),
            lambda: f"log({self.arguments(inside, depth)})",
            lambda: self.random.choice((f"del {one()}", "del y[0], x.m")),
            lambda: (
                f"assert {self.bracketed(self.condition(inside, depth))}{self.random.choice(('', ', x', ', f(x)'))}"
            ),
            lambda: self.random.choice(
                ("import os", "import os.path as x", "from os import path", "from . import y as a", "import os, re")
            ),
        ]
        if not place.body:
            ways.append(lambda: f"{self.random.choice(('z: int', 'x.m: int', 'z: int'))} = {value()}")
        if place.function in ("generator", "async", "asyncgen"):
            ways += [
                lambda: self.suspension(inside, depth)[1:-1],
                lambda: f"x = {self.suspension(inside, depth)[1:-1]}",
            ]
        if self.version >= (3, 12) and self.chance(0.1):
            ways.append(
                lambda: self.random.choice((f"type {self.fresh('T')} = x", f"type {self.fresh('T')}[S] = list[S]"))
            )
        return self.choose(*ways)

    def _if(self, place: Place, depth: int) -> tuple[list[str], bool]:
        lines: list[str] = []
        through = False
        for number in range(self.random.choice((1, 1, 1, 2, 3))):
            word = "elif" if number else "if"
            lines.append(f"{word} {self.condition(Inside(place), self.deep)}:")
            body, reached = self.inner(place, depth)
            lines += body
            through |= reached
        if self.chance(0.5):
            return lines, True
        body, reached = self.inner(place, depth)
        if body[0].strip().startswith("if ") and self.chance(0.7):
            body.insert(0, "    log(0)")
        return [*lines, "else:", *body], through or reached

    def _while(self, place: Place, depth: int) -> tuple[list[str], bool]:
        return self.loop(f"while {self.condition(Inside(place), self.deep)}:", place, depth)

    def _for(self, place: Place, depth: int) -> tuple[list[str], bool]:
        word = "async for" if place.asynchronous and self.chance(0.5) else "for"
        target = self.random.choice(("x", "y", "a", "a, b", "x.m", "(a, *b)"))
        return self.loop(f"{word} {target} in {self.primary(Inside(place), 1)}:", place, depth)

    def loop(self, head: str, place: Place, depth: int) -> tuple[list[str], bool]:
        body, broken = self.repeated(place, depth)
        lines = [head, *body]
        if not broken or not self.chance(0.4):
            return lines, True  # an ``else`` without a ``break`` is code behind the loop
        return [*lines, "else:", *self.inner(place, depth)[0]], True

    def repeated(self, place: Place, depth: int) -> tuple[list[str], bool]:
        """The body of a loop, something in which goes back, and whether there is a ``break``."""
        self.jumped.append(set())
        body, reached = self.inner(replace(place, loop=True), depth, 0.35)
        jumped = self.jumped.pop()
        if not reached and "continue" not in jumped:
            body = [f"    if {self.condition(Inside(place), 1)}:", "        continue", *body]
        return body, "break" in jumped

    def _forever(self, place: Place, depth: int) -> tuple[list[str], bool]:
        body, broken = self.repeated(place, depth)
        return ["while True:", *body], broken

    def handlers(self, place: Place, depth: int) -> tuple[list[str], bool]:
        lines: list[str] = []
        through = False
        handled = replace(place, handling=True)
        count = self.random.choice((1, 1, 2))
        for number in range(count):
            name = self.random.choice(("", "", " as e", " as y"))
            head = f"except {self.random.choice(ERRORS)}{name}:"
            if number == count - 1 and self.chance(0.2):
                head = "except:"
            body, reached = (["    pass"], True) if self.chance(0.2) else self.inner(handled, depth)
            lines += [head, *body]
            through |= reached
        return lines, through

    def _try(self, place: Place, depth: int) -> tuple[list[str], bool]:
        body, reached = self.inner(place, depth)
        lines, through = self.handlers(place, depth)
        lines = ["try:", *body, *lines]
        if reached and self.chance(0.3):
            more, reached = self.inner(place, depth)
            lines += ["else:", *more]
        return lines, through or reached

    def _finally(self, place: Place, depth: int) -> tuple[list[str], bool]:
        if self.chance(0.4):
            lines, through = self._try(place, depth)
        else:
            lines, through = self.inner(place, depth)
            lines.insert(0, "try:")
        leave = self.chance(0.1)
        quiet = replace(place, leave=place.leave and leave, loop=place.loop and leave)
        more, reached = self.inner(quiet, depth, 0.1)
        return [*lines, "finally:", *more], through and reached

    def _star(self, place: Place, depth: int) -> tuple[list[str], bool]:
        body, reached = self.inner(place, depth)
        lines = ["try:", *body]
        through = False
        for _ in range(self.random.choice((1, 2))):
            more, leaves = self.inner(replace(place, leave=False, loop=False, handling=True), depth, 0.15)
            lines += [f"except* {self.random.choice(ERRORS)}{self.random.choice(('', ' as e'))}:", *more]
            through |= leaves
        return lines, through or reached

    def _with(self, place: Place, depth: int) -> tuple[list[str], bool]:
        items = []
        for _ in range(self.random.choice((1, 1, 2))):
            name = self.random.choice(("", " as x", " as (a, b)", " as y.m"))
            items.append(f"{self.random.choice(('f(x)', 'a', 'x.m', 'g(b, c)'))}{name}")
        word = "async with" if place.asynchronous and self.chance(0.5) else "with"
        body, _ = self.inner(place, depth)
        return [f"{word} {', '.join(items)}:", *body], True

    def _def(self, place: Place, depth: int) -> tuple[list[str], bool]:
        return self.definition(self.fresh("inner"), depth - 1, place, method=False), True

    def _class(self, place: Place, depth: int) -> tuple[list[str], bool]:
        return self.class_definition(self.fresh("C"), depth - 1, place), True

    def _match(self, place: Place, depth: int) -> tuple[list[str], bool]:
        subject = self.random.choice(("x", "x.m", "f(y)", "x, y"))
        lines = [f"match {subject}:"]
        through = True
        for number in range(self.random.choice((1, 2, 3))):
            pattern = self.pattern(2, 0)
            guard = f" if {self.condition(Inside(place), 1)}" if self.chance(0.25) else ""
            if number == 0:
                pattern = self.random.choice(
                    ("[a, b]", "{'k': a}", "h.C(a)", "[a, *_]", "{'k': 1, **b}", "h.C(m=a, n=1)")
                )
            body, _ = self.inner(place, depth)
            lines += [f"    case {pattern}{guard}:", *("    " + line for line in body)]
        if self.chance(0.3):
            body, _ = self.inner(place, depth)
            lines += ["    case _:", *("    " + line for line in body)]
        return lines, through

    def pattern(self, depth: int, number: int) -> str:
        names = ["a", "b", "c", "z"]
        self.random.shuffle(names)

        def capture() -> str:
            return names.pop() if names else "_"

        def make(depth: int) -> str:
            roll = self.random.random()
            if depth <= 0 or roll < 0.2:
                return (
                    self.random.choice(("1", "'s'", "None", "h.X", "-1", "_"))
                    if self.chance(0.5) or not names
                    else capture()
                )
            if roll < 0.4:
                parts = [make(depth - 1) for _ in range(self.random.choice((1, 2)))]
                if self.chance(0.3):
                    parts.append(self.random.choice(("*_", f"*{capture()}" if names else "*_")))
                return f"[{', '.join(parts)}]"
            if roll < 0.55:
                return f"{{'k': {make(depth - 1)}}}"
            if roll < 0.8:
                return f"h.C({make(depth - 1)}, m={make(depth - 1)})"
            if roll < 0.9:
                return self.random.choice(("1 | 2", "h.X | None", "[1] | [2, _]", "'a' | 'b' | {'k': _}"))
            return f"h.D() as {capture()}" if names else "h.D()"

        text = make(depth)
        return text if text not in names and not text.isidentifier() or text in ("None",) else "h.D()"

    # Definitions

    def parameters(self, method: bool) -> str:
        parts = ["self"] if method else []
        parts += list(
            self.random.choice(((), ("a",), ("a", "b"), ("x", "y=1"), ("a", "/", "b"), ("x", "*c"), ("*", "b=None")))
        )
        if self.chance(0.1):
            parts.append("**kw")
        if self.chance(0.2):
            parts = [f"{part}: int" if part in ("a", "x") else part for part in parts]
        return ", ".join(parts)

    def definition(self, name: str, depth: int, around: Place, method: bool) -> list[str]:
        kind = self.random.choice(("plain", "plain", "plain", "generator", "async", "asyncgen"))
        place = Place(kind)
        word = "async def" if place.asynchronous else "def"
        generic = "[T]" if self.version >= (3, 12) and self.chance(0.1) else ""
        if self.version >= (3, 13) and generic and self.chance(0.5):
            generic = "[T: int = bool]"
        result = self.random.choice(("", "", "", " -> int"))
        lines = [f"@{self.random.choice(('f', 'g(x)', 'log.m'))}"] if self.chance(0.15) else []
        lines.append(f"{word} {name}{generic}({self.parameters(method)}){result}:")
        kept, before = self.jumped, self.theme
        self.jumped = []
        body: list[str] = []
        if not around.body and self.chance(0.1):
            body.append("global z")
        if self.chance(0.1) and around.function in ("module", "class"):
            body.append("'''What it does.'''")
        if method and self.chance(0.3):
            body.append("super().m(a)")
        reached = True
        for _ in range(self.random.choice((1, 2, 2, 3))):
            more, reached = self.statement(place, depth)
            body += more
            if not reached:
                break
        if reached and self.chance(0.4) and kind != "asyncgen":
            body.append(f"return {self.expression(Inside(place), self.deep)}")
        if place.yields and not any("yield" in line for line in body):
            body.insert(0, "yield x")
        body = self.declared(body)
        self.jumped, self.theme = kept, before
        return [*lines, *("    " + line for line in body)]

    @staticmethod
    def declared(body: list[str]) -> list[str]:
        """``global`` and the doc string stand first."""
        first = [line for line in body if line.startswith("'''")]
        second = [line for line in body if line.startswith("global")]
        return [*first, *second, *(line for line in body if line not in first and line not in second)]

    def class_definition(self, name: str, depth: int, around: Place) -> list[str]:
        place = Place("class")
        bases = self.random.choice(("", "", "(a)", "(a, metaclass=b)", "(a, *b)"))
        generic = "[T]" if self.version >= (3, 12) and self.chance(0.1) else ""
        lines = [f"@{self.random.choice(('f', 'g(x)'))}"] if self.chance(0.15) else []
        lines.append(f"class {name}{generic}{bases}:")
        kept, self.jumped = self.jumped, []
        body: list[str] = []
        for _ in range(self.random.choice((1, 2, 3))):
            roll = self.random.random()
            if roll < 0.5:
                body += self.definition(self.fresh("m"), depth, place, method=True)
            else:
                more, reached = self.statement(place, depth)
                body += more
                if not reached:
                    break
        self.jumped = kept
        return [*lines, *("    " + line for line in body)]

    def module(self, functions: int) -> str:
        lines: list[str] = []
        for _ in range(functions):
            kinds = ("if", "while", "for", "try", "finally", "with", "match", "star", "forever", "def", "class")
            self.theme = tuple(self.random.sample(kinds, self.random.choice((1, 2, 3))))
            depth = self.random.choice((1, 2, 2, 3, 3))
            self.deep = self.random.choice((1, 1, 2))
            roll = self.random.random()
            if roll < 0.8:
                lines += self.definition(self.fresh("fn"), depth, Place(), method=False)
            elif roll < 0.93:
                lines += self.class_definition(self.fresh("C"), depth, Place())
            else:
                lines += self.statement(Place(), depth)[0]
        return "\n".join(lines) + "\n"


def make(seed: int, version: Version, functions: int = 10) -> str:
    """The text of one module; it may be none that compiles (names twice in a pattern, ``global`` too late): ask the compiler."""
    return Maker(seed, version).module(functions)
