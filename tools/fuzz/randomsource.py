"""Random Python modules: statements and expressions of one version, put into each other at random.

``make(seed, version)`` gives the text of a module of a few functions and classes; the same seed gives the same text.  Each
function takes a few kinds of statements (its *theme*) much oftener than the others, so that a small number of them meets in
many ways.  What no bytecode tells is left out: code that is never reached, tests and operators of constants alone, and
``return`` at the end of a function.

The text compiles on the version it is made for; it is never run.
"""

from __future__ import annotations

from tools.fuzz.randomexpressions import Inside, Place, Version
from tools.fuzz.randomstatements import Statements


class Maker(Statements):
    """One module."""

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
