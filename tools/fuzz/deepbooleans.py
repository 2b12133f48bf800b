"""Deep ``and``, ``or``, ``not``, conditional expressions, comparisons and walruses of few names, in all places where one may stand.

``make(seed, version)`` gives the text of a module of functions of one expression each; the same seed gives the same text.
Unlike in ``randombooleans.py`` names repeat, so that operands are alike where nothing but their place tells them apart.
"""

from __future__ import annotations

import random

Version = tuple[int, int]
FORMS = [
    "if {}:\n    x()\n",
    "if {}:\n    x()\nelse:\n    y()\n",
    "while {}:\n    x()\n",
    "return {}\n",
    "assert {}\n",
    "assert {}, m\n",
    "return [z for z in zs if {}]\n",
    "return {{z: 1 for z in zs if {}}}\n",
    "return any({} for z in zs)\n",
    "q = call(1, {}, k=2)\n",
    "call({})\n",
    "try:\n    x({})\nexcept E:\n    y()\n",
    "try:\n    if {}:\n        x()\nexcept E:\n    y()\n",
    "try:\n    return {}\nfinally:\n    y()\n",
    "with {}:\n    x()\n",
    "with m:\n    if {}:\n        x()\n",
    "with m:\n    q = {}\n",
    "with m:\n    return {}\n",
    "q = 1 if {} else 2\n",
    "return x() if {} else y()\n",
    "if (w := {}):\n    x(w)\n",
    "q = {}\n",
    "{}\n",
    "for z in zs:\n    if {}:\n        continue\n    x()\n",
    "for z in zs:\n    if {}:\n        break\n",
    "for z in zs:\n    if {}:\n        x()\n",
    "while 1:\n    if {}:\n        break\n    x()\n",
    "q = lambda: {}\n",
    "q = yield {}\n",
    "q = f'{{{}}}'\n",
    "del m[{}]\n",
    "if {}:\n    x()\nelif y:\n    z()\n",
    "if {}:\n    return 1\nreturn 2\n",
    "raise E({})\n",
    "for z in {}:\n    x(z)\n",
]


def expression(rng: random.Random, depth: int, names: list[str]) -> str:
    """The text of one expression."""
    roll = rng.random()
    if depth == 0 or rng.random() < 0.12:
        return atom(rng, names)

    def operand() -> str:
        text = expression(rng, depth - 1, names)
        return f"({text})" if " " in text or "(" in text else text

    for word, share in ((" and ", 0.38), (" or ", 0.76)):
        if roll < share:
            return word.join(operand() for _ in range(rng.choice((2, 2, 3))))
    return f"not {operand()}" if roll < 0.88 else f"{operand()} if {operand()} else {operand()}"


def atom(rng: random.Random, names: list[str]) -> str:
    """An operand without operators of its own, or a comparison."""
    name, other, third = rng.choice(names), rng.choice(names), rng.choice(names)
    return rng.choice(
        [name] * 10
        + [f"{name}({other})", f"{name} is None", f"{name} is not None", f"({name} := {other}.x)"]
        + [f"{name} < {other}", f"{name} < {other} <= {third}"]
    )


def make(seed: int, version: Version, functions: int = 10) -> str:
    """The text of one module."""
    rng = random.Random(seed)
    lines: list[str] = []
    for number in range(functions):
        names = rng.sample("abcdefghij", rng.choice((4, 6, 8, 10)))
        text = expression(rng, rng.choice((2, 3, 3, 4)), names)
        form = rng.choice(FORMS)
        if " if " in form or "yield" in form:
            text = f"({text})"
        lines += [f"def fn{number}(a, b, c, d):", *["    " + line for line in form.format(text).splitlines()]]
    return "\n".join(lines) + "\n"
