"""Files of the running interpreter that grow with ``n``, in shapes that make careless work grow with its square."""

from __future__ import annotations

import importlib.util
import marshal
import opcode
import random
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

GROWING: dict[str, Callable[[int], bytes]] = {}
"""Each gives the bytes of a ``.pyc``, whose size is about proportional to ``n``."""
MADE_BY_A_COMPILER: dict[str, Callable[[int], str]] = {}
"""Those of them that are compiled from a text, and the text."""
MODULE = compile("x = 1", "m.py", "exec", dont_inherit=True)
SINCE_311, SINCE_312, SINCE_313 = (sys.version_info >= (3, minor) for minor in (11, 12, 13))
Op = tuple[str, int]


def growing(make: Callable[[int], bytes]) -> Callable[[int], bytes]:
    GROWING[make.__name__] = make
    return make


def source(make: Callable[[int], str]) -> Callable[[int], str]:
    """Registers a shape that a compiler makes of a text."""
    MADE_BY_A_COMPILER[make.__name__] = make
    GROWING[make.__name__] = lambda n: pyc(compile(make(n), "grown.py", "exec", dont_inherit=True))
    return make


def pyc(code: CodeType) -> bytes:
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def caches(number: int) -> int:
    entries = getattr(opcode, "_inline_cache_entries", None)
    if isinstance(entries, dict):
        return int(entries.get(opcode.opname[number], 0))
    return entries[number] if entries else 0


def code_of(*operations: Op) -> bytes:
    out = bytearray()
    for name, arg in operations:
        for shift in (24, 16, 8):
            if arg >> shift:
                out += bytes((opcode.opmap["EXTENDED_ARG"], arg >> shift & 255))
        number = opcode.opmap[name]
        out += bytes((number, arg & 255)) + bytes(2 * caches(number))
    return bytes(out)


START: list[Op] = [("RESUME", 0)] if SINCE_311 else []
END: list[Op] = [("LOAD_CONST", 0), ("RETURN_VALUE", 0)]


def module(operations: list[Op], stack: int, consts: tuple[Any, ...] = (None,), **changes: Any) -> CodeType:
    return MODULE.replace(
        co_code=code_of(*START, *operations, *END), co_consts=consts, co_names=("x", "y"), co_stacksize=stack, **changes
    )


def in_module(function: CodeType) -> bytes:
    made = compile("def f(a): pass", "m.py", "exec", dont_inherit=True)
    return pyc(made.replace(co_consts=tuple(function if isinstance(c, CodeType) else c for c in made.co_consts)))


ADD: Op = ("BINARY_OP", 0) if SINCE_311 else ("BINARY_ADD", 0)
LOAD: Op = ("LOAD_NAME", 0)


@growing
def operators_to_the_right(n: int) -> bytes:
    """``x + (x + (x + ...))``"""
    return pyc(module([LOAD] * (n + 1) + [ADD] * n + [("STORE_NAME", 0)], n + 10))


@growing
def operators_to_the_left(n: int) -> bytes:
    return pyc(module([LOAD, *[LOAD, ADD] * n, ("STORE_NAME", 0)], 10))


@growing
def deep_stack(n: int) -> bytes:
    return pyc(module([LOAD] * n + [("POP_TOP", 0)] * n, n + 5))


@growing
def statements_on_a_deep_stack(n: int) -> bytes:
    return pyc(module([LOAD] * n + [LOAD, ("POP_TOP", 0)] * n + [("POP_TOP", 0)] * n, n + 5))


@growing
def swaps(n: int) -> bytes:
    if SINCE_311:
        turns = [("SWAP", k + 2) for k in range(n - 2)]
    else:
        turns = [("ROT_THREE", 0), ("ROT_TWO", 0)] * (n // 2)
    return pyc(module([LOAD] * n + turns + [("POP_TOP", 0)] * n, n + 5))


@growing
def copies(n: int) -> bytes:
    """Each value is used twice: the text doubles with each, were it written out."""
    copy = ("COPY", 1) if SINCE_311 else ("DUP_TOP", 0)
    return pyc(module([LOAD, *[copy, ADD] * n, ("STORE_NAME", 0)], 10))


@growing
def comparisons(n: int) -> bytes:
    """``((x < x) < x) < ...``"""
    return pyc(module([LOAD, *[LOAD, ("COMPARE_OP", 0)] * n, ("STORE_NAME", 0)], 10))


@growing
def nested_lists(n: int) -> bytes:
    return pyc(module([LOAD, *[("BUILD_LIST", 1)] * n, ("STORE_NAME", 0)], 10))


@growing
def nested_dicts(n: int) -> bytes:
    return pyc(module([LOAD] * (n + 1) + [("BUILD_MAP", 1)] * n + [("STORE_NAME", 0)], n + 10))


@growing
def subscripts_to_the_right(n: int) -> bytes:
    """``x[x[x[...]]]``"""
    subscript: Op = ("BINARY_OP", 26) if sys.version_info >= (3, 14) else ("BINARY_SUBSCR", 0)
    return pyc(module([LOAD] * (n + 1) + [subscript] * n + [("STORE_NAME", 0)], n + 10))


@growing
def nested_yields(n: int) -> bytes:
    text = compile("def f(a):\n    yield (yield a)\n", "y.py", "exec", dont_inherit=True).co_consts[0]
    code, number = text.co_code, opcode.opmap["YIELD_VALUE"]
    first = next(i for i in range(0, len(code), 2) if code[i] == number)
    second = next(i for i in range(first + 2, len(code), 2) if code[i] == number)
    if text.co_flags and getattr(text, "co_exceptiontable", b""):
        return in_module(text)  # the wrapper of a generator of 3.12+ would not be around it
    return in_module(text.replace(co_code=code[:first] + code[first:second] * n + code[second:]))


@growing
def formatted_in_formatted(n: int) -> bytes:
    if SINCE_313:
        one: list[Op] = [("FORMAT_SIMPLE", 0), ("LOAD_CONST", 1), ("BUILD_STRING", 2)]
    else:
        one = [("FORMAT_VALUE", 0), ("LOAD_CONST", 1), ("BUILD_STRING", 2)]
    return pyc(module([LOAD, *one * n, ("STORE_NAME", 0)], 10, (None, "a'\"\\")))


@growing
def formats_of_formats(n: int) -> bytes:
    """The format of each field is the string with the field before."""
    one: list[Op] = [("FORMAT_WITH_SPEC", 0)] if SINCE_313 else [("FORMAT_VALUE", 4)]
    return pyc(module([LOAD] * (n + 1) + one * n + [("STORE_NAME", 0)], n + 10))


def jumping(n: int, target: Callable[[int], int]) -> bytes:
    """``n`` tests in a row, the one with number ``k`` jumping to that with number ``target(k)``, or to the end."""
    if SINCE_312:
        jumps = ("POP_JUMP_IF_FALSE", "POP_JUMP_IF_FALSE")
    elif SINCE_311:
        jumps = ("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE")
    else:
        jumps = ("POP_JUMP_IF_FALSE", "POP_JUMP_IF_FALSE")
    start = len(code_of(*START))
    load = code_of(LOAD)
    width = len(load) + 4 + 2 * caches(opcode.opmap[jumps[0]])
    out = code_of(*START)
    for k in range(n):
        out += load
        here, there = start + width * (k + 1), start + width * target(k)
        if SINCE_312:
            there = max(there, here)  # there are no conditional jumps back
        distance = abs(there - here) // 2 if SINCE_311 else there // (2 if sys.version_info >= (3, 10) else 1)
        number = opcode.opmap[jumps[there < here]]
        out += bytes((opcode.EXTENDED_ARG, distance >> 8 & 255, number, distance & 255)) + bytes(2 * caches(number))
    assert distance < 1 << 16
    code = MODULE.replace(co_code=out + code_of(*END), co_consts=(None,), co_names=("x",), co_stacksize=10)
    return pyc(code)


@growing
def random_jumps(n: int) -> bytes:
    chosen = random.Random(1)
    return jumping(n, lambda k: chosen.randrange(n + 1))


@growing
def random_jumps_forward(n: int) -> bytes:
    chosen = random.Random(1)
    return jumping(n, lambda k: chosen.randrange(k + 1, n + 1))


@growing
def near_jumps(n: int) -> bytes:
    chosen = random.Random(1)
    return jumping(n, lambda k: max(0, min(n, k + chosen.randrange(-4, 8))))


@growing
def jumps_to_the_end(n: int) -> bytes:
    return jumping(n, lambda k: n)


@growing
def jumps_to_the_start(n: int) -> bytes:
    return jumping(n, lambda k: 0)


@growing
def crossing_jumps(n: int) -> bytes:
    return jumping(n, lambda k: min(n, k + n // 2))


@growing
def jumps_ladder_back(n: int) -> bytes:
    """Loops in loops, one for each test."""
    return jumping(n, lambda k: max(0, k - 2))


@growing
def jumps_interleaved(n: int) -> bytes:
    """Each second test goes on, the others go to the place as far from the end."""
    return jumping(n, lambda k: n - k if k % 2 else min(n, k + 2))


@growing
def overlapping_handlers(n: int) -> bytes:
    """From 3.11 on: ranges each of which begins in the one before and ends after it."""
    code = compile("x\n" * n, "h.py", "exec", dont_inherit=True)
    if not SINCE_311:
        return pyc(code)

    def number(value: int, first: bool) -> bytes:
        parts = [value & 63]
        while value := value >> 6:
            parts.append(64 | value & 63)
        parts.reverse()
        parts[0] |= 128 * first
        return bytes(parts)

    size = len(code.co_code) // 2
    table = b"".join(
        number(k * 2, True) + number(max(1, size // 4), False) + number(size - 2 - k % 2, False) + number(0, False)
        for k in range(min(n // 2, size // 3))
    )
    return pyc(code.replace(co_exceptiontable=table))


@growing
def runs_of_extended_arguments(n: int) -> bytes:
    prefix = bytes((opcode.EXTENDED_ARG, 0)) * 50
    return pyc(
        MODULE.replace(co_code=code_of(*START) + (prefix + code_of(("NOP", 0))) * n + code_of(*END), co_consts=(None,))
    )


@growing
def endless_line_tables(n: int) -> bytes:
    """Thousands of entries for a code of two instructions."""
    return pyc(compile("x = y", "l.py", "exec", dont_inherit=True).replace(co_linetable=MODULE.co_linetable * n))


# What a compiler makes


@source
def targets_of_an_unpacking(n: int) -> str:
    return "def f(g):\n    " + ", ".join(f"a{i}" for i in range(20 * n)) + " = g()\n"


@source
def conditional_expressions(n: int) -> str:
    return "".join("y = " + "x if x else " * 20 + f"{i}\n" for i in range(n // 20))


@source
def conditions_in_conditions(n: int) -> str:
    depth = min(n, 60)
    return ("y = " + "(x if " * depth + "x" + " else y)" * depth + "\n") * (n // depth)


@source
def early_returns(n: int) -> str:
    return "def f(a, g):\n" + "".join(f"    if a == {i}:\n        return g({i})\n" for i in range(n))


@source
def elif_chain(n: int) -> str:
    return "def f(a, g):\n    if a:\n        g()\n" + "".join(f"    elif a == {i}:\n        g({i})\n" for i in range(n))


@source
def and_or(n: int) -> str:
    return "y = " + "".join(f"a({i}) {('and', 'or')[i % 2]} " for i in range(n)) + "x\n"


@source
def f_strings_in_f_strings(n: int) -> str:
    one = "x"
    for quote in ("'", '"', "'''", '"""'):
        one = f"f{quote}a{{{one}}}b{quote}"
    return f"y = {one}\n" * (n // 4)


@source
def long_f_string(n: int) -> str:
    return "y = f'" + "".join(f"a{{x}}{i}" for i in range(n)) + "'\n"


@source
def match_cases(n: int) -> str:
    return "match x:\n" + "".join(
        f"    case {{'k{i}': [a, C(b=c), *d]}} if a:\n        f(a, b)\n" for i in range(n // 4)
    )


@source
def nested_patterns(n: int) -> str:
    depth = 20
    one = "match x:\n    case " + "[C(a=" * depth + "b" + "), *_]" * depth + ":\n        f(b)\n"
    return one * (n // depth)


@source
def alternatives(n: int) -> str:
    return "match x:\n    case " + " | ".join(f"[{i}, {i}]" for i in range(n // 2)) + ":\n        f(x)\n"


@source
def managers(n: int) -> str:
    one = "".join("    " * i + f"with a({i}) as b{i}:\n" for i in range(15)) + "    " * 15 + "f()\n"
    return one * (n // 15)


@source
def except_chain(n: int) -> str:
    return "try:\n    f()\n" + "".join(f"except E{i} as e:\n    g(e)\n" for i in range(n // 2))


@source
def finally_in_finally(n: int) -> str:
    one = "".join("    " * i + "try:\n" + "    " * (i + 1) + f"f({i})\n" + "    " * i + "finally:\n" for i in range(6))
    return "def h(f):\n" + "".join("    " + line + "\n" for line in (one + "    " * 6 + "f()").splitlines()) * max(
        n // 60, 1
    )


@source
def tries_in_a_row(n: int) -> str:
    return "def f(a):\n" + "    try:\n        a()\n    except E:\n        return a\n    else:\n        a(1)\n" * (
        n // 3
    )


@source
def huge_dict(n: int) -> str:
    return "y = {" + ", ".join(f"x{i}: [x, {i}]" for i in range(n)) + "}\n"


@source
def huge_set_of_stars(n: int) -> str:
    return "y = {" + ", ".join(f"*x, {i}" for i in range(n)) + "}\n"


@source
def many_keywords(n: int) -> str:
    return "f(" + ", ".join(f"k{i}=x" for i in range(n)) + ")\n"


@source
def many_mappings(n: int) -> str:
    return "f(" + ", ".join(f"**x, k{i}=y" for i in range(n // 2)) + ")\n"


@source
def attributes(n: int) -> str:
    return "y = x" + ".a.b" * (n // 2) + "\n"


@source
def subscripts(n: int) -> str:
    return "y = x" + "[a][b:c]" * (n // 2) + "\n"


@source
def methods(n: int) -> str:
    return "y = x" + "".join(f".m{i}(a)" for i in range(n)) + "\n"


@source
def lambdas_in_lambdas(n: int) -> str:
    return ("y = " + "lambda a: " * 25 + "x\n") * (n // 25)


@source
def comprehensions_in_comprehensions(n: int) -> str:
    one = "x"
    for i in range(8):
        one = f"[{one} for a{i} in b{i} if c{i}]"
    return f"y = {one}\n" * (n // 8)


@source
def clauses_of_one_comprehension(n: int) -> str:
    one = "[" + "x " + " ".join(f"for a{i} in b if a{i}" for i in range(10)) + "]"
    return f"y = {one}\n" * (n // 10)


@source
def many_locals_in_many_blocks(n: int) -> str:
    half = n // 2
    names = "".join(f"    v{i} = a\n" for i in range(half))
    return f"def f(a):\n{names}" + "".join(f"    if v{i}:\n        v{half - 1 - i} = v{i}\n" for i in range(half))


@source
def many_cells(n: int) -> str:
    third = n // 3
    names = "".join(f"    v{i} = a\n" for i in range(third))
    return f"def f(a):\n{names}" + "".join(f"    def g{i}(): return v{i}\n" for i in range(third))


@source
def functions_in_functions(n: int) -> str:
    depth = 18
    one = "".join("    " * i + f"def f{i}(a{i}):\n" for i in range(depth)) + "    " * depth + "return a0, a1\n"
    return one * max(n // depth, 1)


@source
def chained_assignments(n: int) -> str:
    return "".join(f"v{i} = a.b{i} = " for i in range(n // 2)) + "x\n"


@source
def unpacking(n: int) -> str:
    targets = ", ".join(f"(v{i}, *w{i})" for i in range(min(n // 3, 200)))
    return f"{targets}, = x\n" * max(n // 600, 1)


@source
def walruses(n: int) -> str:
    return "if " + " and ".join(f"(v{i} := a(v{i - 1}))" for i in range(1, n)) + ":\n    f()\n"


@source
def classes(n: int) -> str:
    return "".join(
        f"class C{i}(B, k=x):\n    a: int = {i}\n    def m(self): return super().m()\n" for i in range(n // 6)
    )


@source
def decorators(n: int) -> str:
    return "".join(f"@d{i}(x)\n" for i in range(n)) + "def f(): pass\n"


@source
def loops_with_else(n: int) -> str:
    one = "for a in b:\n    if a:\n        continue\n    if c:\n        break\nelse:\n    f()\n"
    return one * (n // 5)


@source
def nested_loops_that_leave(n: int) -> str:
    one = "".join(
        "    " * i + f"for a{i} in b{i}:\n" + "    " * (i + 1) + f"if a{i}: return f({i})\n" for i in range(12)
    )
    return "def h():\n" + "".join("    " + line + "\n" for line in one.splitlines()) * max(n // 24, 1)


@source
def endless_loops_in_each_other(n: int) -> str:
    one = "".join("    " * i + "while True:\n" + "    " * (i + 1) + f"if f({i}): break\n" for i in range(12))
    return one * max(n // 24, 1)


@source
def deletions(n: int) -> str:
    return "del " + ", ".join(f"v{i}, x[{i}]" for i in range(n // 2)) + "\n"


@source
def asserts(n: int) -> str:
    return "def f(a):\n" + "".join(f"    assert a > {i} or a is None, a\n" for i in range(n // 2))


@source
def awaits(n: int) -> str:
    return "async def f(a):\n" + "".join(f"    async with a({i}) as b:\n        await b\n" for i in range(n // 6))


@source
def imports(n: int) -> str:
    return "".join(f"from m{i} import a{i} as b{i}, c\nimport p.q{i} as r\n" for i in range(n // 3))


@source
def returns_in_finally(n: int) -> str:
    return (
        "def f(a):\n    try:\n"
        + "".join(f"        if a({i}):\n            return a\n" for i in range(n // 3))
        + "    finally:\n        a()\n"
    )


@source
def chained_comparisons(n: int) -> str:
    return "y = " + " < ".join(f"a{i}" for i in range(2 * n)) + "\n"
