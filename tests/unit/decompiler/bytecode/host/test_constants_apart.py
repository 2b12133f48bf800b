"""The number of a constant is no part of what an instruction does; its value is."""

from __future__ import annotations

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import decode
from depyf.decompiler.bytecode.host.constants_apart import constants_apart
from depyf.decompiler.bytecode.versions import spec_for


def made(constant: str, count: int = 0):
    """A function that loads ``count`` strings, and ``constant`` last."""
    namespace: dict = {}
    first = ", ".join(f"'s{number}'" for number in range(count))
    exec(
        f"def f(x):\n    g(x, {first})\n    return x + {constant}\n"
        if count
        else f"def f(x):\n    return x + {constant}\n",
        namespace,
    )
    return namespace["f"].__code__


def with_a_dead_constant(code):
    """``code`` with one more constant in front, which nothing loads."""
    spec = spec_for(CodeUnit.from_code(code).version)
    raw = decode(CodeUnit.from_code(code), spec)
    text = bytearray(code.co_code)
    for name, offset, arg in zip(raw.names, raw.offsets, raw.args):
        if name in ("LOAD_CONST", "RETURN_CONST", "KW_NAMES"):
            assert arg < 255
            text[offset + 1] = arg + 1
    return code.replace(co_code=bytes(text), co_consts=("dead", *code.co_consts))


def test_numbers_do_not_count():
    code = made("12345")
    other = with_a_dead_constant(code)
    assert other.co_code != code.co_code and eval("f(1)", {"f": type(test_numbers_do_not_count)(other, {})}) == 12346
    assert constants_apart(code) == constants_apart(other)
    assert constants_apart(code)[1] == (12345,)


def test_values_and_instructions_do():
    assert constants_apart(made("12345")) != constants_apart(made("12346"))
    assert constants_apart(made("12345"))[0] == constants_apart(made("12346"))[0]
    assert constants_apart(made("12345"))[0] != constants_apart(made("x"))[0]


def test_more_than_a_byte():
    first, second = made("'a'", 300), made("'b'", 300)
    assert constants_apart(first)[0] == constants_apart(second)[0]
    assert constants_apart(first)[1][-1] == "a" and len(constants_apart(first)[1]) == 301
