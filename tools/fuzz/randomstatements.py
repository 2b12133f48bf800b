"""Random Python statements of one version, put into each other at random (``randomsource.py``)."""

from __future__ import annotations

from dataclasses import replace

from tools.fuzz.randomexpressions import ATTRIBUTES, ERRORS, OPERATORS, Expressions, Inside, Place


class Statements(Expressions):
    """Each method gives the lines of a statement or a block, and most whether what follows it is reached."""

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
            return lines, True  # an ``else`` without a ``break`` is code after the loop
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
