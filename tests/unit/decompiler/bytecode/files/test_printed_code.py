"""Code from what ``dis`` prints of it, in the form of each version."""

from __future__ import annotations

import json
import subprocess

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.printed_code import read_printed
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.errors import BytecodeError
from foreign import VERSIONS, compiled_text
from needs import need
from tools.env.interpreters import number

SAMPLE = '''
def loops(a, b, *rest):
    total = 0
    for i in range(300):
        if i % 7 == 3 or a.flag is None and b not in rest:
            continue
        total = total + a.x * i - b["key"][i:2]
    while total > 2.5:
        total -= 1
        if total == a:
            break
    else:
        return None
    return total, {"a": 1, **a.d}, [1, "two\\n", b"3", -0.0, 1e400, 2j, ...], f"{a!r:>{b}}"


def handlers(x):
    try:
        with x.lock, x.other as held:
            x.do(held)
    except (ValueError, KeyError) as error:
        return error
    finally:
        x.done += 1
    assert x, "no"
    return x is not None


def numbers(x):
    import os.path as path
    global counter
    counter = path
    if x in {1, 2, 3}:
        del x.y, x[0]
    raise RuntimeError from x


def wide(x):
    return [
''' + "".join(f"        x.attribute_{n} + {1000 + n},\n" for n in range(300)) + '''    ]
'''  # fmt: skip
PRINT = """
import dis, json, sys
scope = {}
exec(compile(sys.stdin.read(), "sample.py", "exec"), scope)
named = {name: dis.Bytecode(made).dis() for name, made in scope.items() if hasattr(made, "__code__")}
json.dump(named, sys.stdout)
"""


def printed(version: str, text: str = SAMPLE) -> dict[str, str]:
    done = subprocess.run(
        [need(version), "-I", "-W", "ignore", "-c", PRINT], input=text, capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def real(version: str, name: str) -> CodeUnit:
    return next(c for c in compiled_text(version, SAMPLE).consts if isinstance(c, CodeUnit) and c.name == name)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_the_same_code(version: str) -> None:
    for name, text in printed(version).items():
        unit, original = read_printed(text, number(version), name, "sample.py"), real(version, name)
        one, two = lower(unit), lower(original)
        assert [(i.op, repr(i.arg), i.target, i.handler) for i in one.instrs] == [
            (i.op, repr(i.arg), i.target, i.handler) for i in two.instrs
        ], name
        assert one.handlers == two.handlers
        assert unit.argcount == original.argcount + bool(original.flags & 4)
        assert unit.varnames[: unit.argcount] == original.varnames[: unit.argcount]
        assert decompile_unit(unit).proven


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_in_the_text_is_named(version: str) -> None:
    text = printed(version, "def made(x):\n    return lambda: 1\n\ndef gen(x):\n    yield x\n")
    for name, reason in (("made", "no literal"), ("gen", "its kind")):
        with pytest.raises(BytecodeError, match=reason):
            read_printed(text[name], number(version), name, "sample.py")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_text_that_was_cut_or_changed(version: str) -> None:
    """Any cut gives an error of ours, or code that can be lowered or not."""
    text = printed(version)["handlers"]
    for end in range(0, len(text), 37):
        for damaged in (text[:end], text[:end] + text[end + 23 :], text[:end].replace("1", "9" * 5000) + text[end:]):
            try:
                lower(read_printed(damaged, number(version), "handlers", "sample.py"))
            except BytecodeError:
                pass


def test_names_from_another_listing_of_the_same_variables() -> None:
    """A parameter that the code does not read has no name in its text; the original that it was made of may read it."""
    text = printed("3.11", "def one(a, b, c):\n    return c\n\ndef two(a, b, c):\n    return a, b, c\n")
    alone = read_printed(text["one"], (3, 11), "one", "s.py")
    assert alone.varnames == ("_unused_0", "_unused_1", "c") and alone.argcount == 3
    assert read_printed(text["one"], (3, 11), "one", "s.py", [text["two"]]).varnames == ("a", "b", "c")


def test_what_only_an_exception_skips_is_no_parameter() -> None:
    text = printed(
        "3.11",
        "def held(x):\n    with x:\n        y = 1\n    return y\n\ndef used(x):\n    if x:\n        y = 1\n    return y\n",
    )
    assert read_printed(text["held"], (3, 11), "held", "s.py").argcount == 1
    assert read_printed(text["used"], (3, 11), "used", "s.py").argcount == 2, (
        "the text does not tell it from a parameter"
    )
