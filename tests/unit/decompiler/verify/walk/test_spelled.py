"""Operations that text can only spell out: proven as it is written by plain lifting, and refuted where a part is missing."""

from __future__ import annotations

import textwrap

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.verify import Status, Verdict, verify
from depyf.decompiler.verify.assumptions import MANAGER_NOTE, WHOLE_NOTE


def unit(source: str) -> CodeUnit:
    return CodeUnit.from_code(compile(textwrap.dedent(source), "<test>", "exec", dont_inherit=True))


BOUND = {"BaseException": BaseException, "type": type, "hasattr": hasattr, "tuple": tuple, "len": len}
"""As if the text named the builtins as constants."""


def only(original: str, recompiled: str) -> Verdict:
    return verify(unit(original), unit(recompiled), "__temp_", bindings=BOUND)[1]


MANAGED = """
def f(m, g):
    with m as x:
        g(x)
"""
SPELLED = """
def f(m, g):
    if hasattr(type(m), "__enter__"):
        if hasattr(type(m), "__exit__"):
            __temp_1 = m.__exit__
            __temp_2 = m.__enter__()
        else:
            with m: pass
    else:
        with m: pass
    try:
        x = __temp_2
        del __temp_2
        g(x)
    except BaseException as __temp_3:
        __temp_2 = None
        __temp_4 = __temp_1(type(__temp_3), __temp_3, __temp_3.__traceback__)
        if not __temp_4:
            raise
        return
    __temp_1(None, None, None)
"""


def test_a_manager_spelled_out() -> None:
    found = only(MANAGED, SPELLED)
    assert found.status is Status.EQUIVALENT, found.reason
    assert MANAGER_NOTE in found.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('if hasattr(type(m), "__exit__"):', "if True:"),
        ('hasattr(type(m), "__exit__")', 'hasattr(m, "__exit__")'),
        ('hasattr(type(m), "__exit__")', 'hasattr(type(g), "__exit__")'),
        ("__temp_1 = m.__exit__", "__temp_1 = g.__exit__"),
        ("__temp_2 = m.__enter__()", "__temp_2 = m.__enter__(g)"),
        ("type(__temp_3), __temp_3, __temp_3.__traceback__", "type(__temp_3), __temp_3, None"),
        ("    else:\n        with m: pass", "    else:\n        return"),
        ("            raise\n", "            pass\n"),
        ("__temp_1(None, None, None)", "__temp_1(None, None)"),
    ],
)
def test_a_manager_spelled_wrongly(old: str, new: str) -> None:
    assert old in SPELLED
    assert not only(MANAGED, SPELLED.replace(old, new)).proven


def test_updating_a_dict_is_not_its_update() -> None:
    """``dict.update`` takes pairs, too: it is the operation only where a mapping is asked for."""
    original = "def f(x, y):\n    return {**x, **y}\n"
    text = "def f(x, y):\n    __temp_0 = {}\n    __temp_0.update(%s)\n    __temp_0.update(%s)\n    return __temp_0\n"
    found = only(original, text % ("{**x}", "{**y}"))
    assert found.status is Status.EQUIVALENT, found.reason
    assert WHOLE_NOTE in found.reason
    assert not only(original, text % ("x", "{**y}")).proven
    assert not only(original, text % ("{**x}", "y")).proven
    assert not only(original, text % ("{**y}", "{**x}")).proven
