"""A code object is cut down to what comes before certain instructions, in time that grows with what is kept."""

from __future__ import annotations

import dis
import types

import pytest

from depyf.decompiler.bytecode.exception_table import entry_at, table_entries
from depyf.decompiler.bytecode.host.excerpt import Mark, shortened, walk
from depyf.decompiler.driver.pipeline import decompile_code


def branches(a, b):
    if a:
        b = a + 1
        print(b)
    else:
        b = a - 1
    return b * 2


def closes(a):
    with open(a) as file:
        print(file)
        a = file.read()
    return a + "x"


def offset_after(code: types.CodeType, opname: str, count: int = 1, *, since: object = None) -> int:
    """The offset of the instruction after the ``count``-th of this name, counted from the one with the argument ``since``."""
    found = list(dis.get_instructions(code))
    first = next(at for at, instr in enumerate(found) if since in (None, instr.argval))
    places = [at for at, instr in enumerate(found) if at >= first and instr.opname.startswith(opname)]
    following = found[places[count - 1] + 1]
    return following.offset


def cut(code: types.CodeType, offset: int, mark: Mark) -> str:
    found = decompile_code(shortened(walk(code, lambda at: at == offset), {offset: mark}))
    assert found.proven
    return found.source


def test_the_rest_is_a_mark() -> None:
    code = branches.__code__
    text = cut(code, offset_after(code, "CALL", 1), Mark("rest", (True,)))
    assert 'raise (print(b), "rest")' in text
    assert "b = a - 1" in text and "return b * 2" in text, "the other way is whole"


def test_a_handler_of_what_is_kept_is_kept() -> None:
    code = closes.__code__
    text = cut(code, offset_after(code, "CALL", since="print"), Mark("rest", (True,)))
    assert text.count("with open(a) as file:") == 1
    assert '        raise (print(file), "rest")' in text and "read" not in text


def test_nulls_go_below_the_values() -> None:
    def calls(f, a, b):
        return a + f(b, f(a))

    code = calls.__code__
    instrs = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "PRECALL")]
    first = next(at for at, i in enumerate(instrs) if i.opname.startswith("CALL"))
    stack = (True, True, True, True) if "PUSH_NULL" not in {i.opname for i in instrs} else None
    if stack is None:
        after_callable = instrs[[i.opname for i in instrs].index("PUSH_NULL") + 1].opname.startswith("LOAD_FAST")
        null_first = after_callable and instrs[[i.opname for i in instrs].index("PUSH_NULL") + 1].argval == "f"
        stack = (True, False, True, True, True) if null_first else (True, True, False, True, True)
    text = cut(code, instrs[first + 1].offset, Mark("rest", stack))
    assert 'raise (a, f, b, f(a), "rest")' in text


def test_work_grows_with_what_is_kept() -> None:
    lines = "\n".join(f"    a{n} = f({n})" for n in range(3000))
    names: dict[str, types.FunctionType] = {}
    exec(f"def long(f):\n{lines}\n", names)
    code = names["long"].__code__
    end = offset_after(code, "STORE_FAST", 3)
    found = walk(code, lambda at: at == end)
    assert len(found.ops) < 40
    made = shortened(found, {end: Mark("rest")})
    assert len(made.co_code) < 150 and len(made.co_consts) < 6


@pytest.mark.parametrize("function", [closes, branches])
def test_an_entry_is_found_by_halving(function: types.FunctionType) -> None:
    table = getattr(function.__code__, "co_exceptiontable", b"")
    entries = table_entries(table)
    for offset in range(0, len(function.__code__.co_code), 2):
        assert entry_at(table, offset) == next((e for e in entries if e[0] <= offset < e[1]), None)
