"""Functions of one shape and any size, for the benchmark of how time grows.

Each shape gives the text of one repetition; where Python limits how deep or long a thing may be, the repetition is as
large as is safe and the function repeats it.
"""

from __future__ import annotations

from collections.abc import Callable


def straight(i: int) -> str:
    return f"    a.x{i % 50} = b[{i}] + f(c, {i})\n"


def ifs(i: int) -> str:
    return f"    if a > {i}:\n        b = f({i})\n    else:\n        c = b\n"


def elifs(i: int) -> str:
    arms = "".join(f"    elif a == {i * 60 + k}:\n        b = f({k})\n" for k in range(60))
    return f"    if a is None:\n        c = {i}\n{arms}    else:\n        d = c\n"


def nesting(i: int) -> str:
    heads = ["if a.x{0}:", "for b in c[{0}]:", "while d({0}):", "if a or c({0}):", "try:"]
    text, stack = "", []
    for depth in range(15):
        head = heads[depth % 5].format(i + depth)
        text += "    " * (depth + 1) + head + "\n"
        stack.append((depth + 1, head))
    text += "    " * 16 + f"f(a, b, c, {i})\n"
    for depth, head in reversed(stack):
        if head == "try:":
            text += "    " * depth + "except E:\n" + "    " * (depth + 1) + f"d = {i}\n"
    return text


def tries(i: int) -> str:
    return f"    try:\n        a = f({i})\n    except E as e:\n        b = g(e)\n    finally:\n        c = {i}\n"


def withs(i: int) -> str:
    return f"    with a({i}) as b, c:\n        d = f(b)\n"


def literals(i: int) -> str:
    items = ", ".join(f"'key{k}': [b, {k}, f({k})]" for k in range(200))
    return f"    a = {{{items}}}\n    c = [{', '.join(f'(a, {k}, d)' for k in range(200))}]\n"


def matches(i: int) -> str:
    cases = "".join(f"        case [{k}, x] if x > {i}:\n            b = x\n" for k in range(20))
    return f"    match a:\n{cases}        case {{'k': y, **rest}}:\n            c = y\n        case _:\n            d = a\n"


def expressions(i: int) -> str:
    terms = " + ".join(f"f(a[{k}], b.x * (c - {k}), d and {k})" for k in range(60))
    return f"    a = {terms}\n"


def comprehensions(i: int) -> str:
    return f"    a = [x * {i} for x in b if x]\n    c = {{x: [y for y in f(x)] for x in d}}\n"


def returns(i: int) -> str:
    return f"    if a == {i}:\n        return f({i})\n"


def long_lists(i: int) -> str:
    return f"    a = [{', '.join(f'f({k}), b' for k in range(1000))}]\n"


def long_chains(i: int) -> str:
    tests = " or ".join(f"a.x{k} == {k}" for k in range(600))
    return f"    if {tests}:\n        b = {' and '.join(f'f({k})' for k in range(600))}\n"


def returns_in_loops(i: int) -> str:
    return f"    for x in a[{i}]:\n        if x:\n            return x\n"


def functions(i: int) -> str:
    return f"    def h{i}(x, y=b):\n        nonlocal c\n        c = x + {i}\n        return y, a\n"


def awaits(i: int) -> str:
    return f"    async def h{i}():\n        async with a({i}) as x:\n            async for y in x:\n                await f(y)\n"


SHAPES: dict[str, Callable[[int], str]] = {
    "straight line": straight,
    "ifs in sequence": ifs,
    "long elif chains": elifs,
    "deep nesting": nesting,
    "try statements": tries,
    "with statements": withs,
    "dict and list literals": literals,
    "long match statements": matches,
    "giant expressions": expressions,
    "comprehensions": comprehensions,
    "early returns": returns,
    "long lists of calls": long_lists,
    "long and/or chains": long_chains,
    "returns in loops": returns_in_loops,
    "nested functions": functions,
    "async functions": awaits,
}


def text(shape: str, count: int) -> str:
    """A function of ``count`` repetitions."""
    one = SHAPES[shape]
    return "def big(a, b, c, d, f, g, E):\n" + "".join([one(i) for i in range(count)])
