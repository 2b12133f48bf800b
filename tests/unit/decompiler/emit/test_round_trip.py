"""Standard library sources -> trees without declarations -> text: it compiles to the same operations and scopes."""

from __future__ import annotations

import dis
import os
import random
import sys
import types
from pathlib import Path

import pytest

from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.decompiler.emit import emit_function, emit_module
from depyf.decompiler.ir.expr import Func
from from_ast import module, walk

LIBRARY = Path(os.__file__).parent
VERSION = sys.version_info[:2]
# Sources that test the compiler itself: constant folding of __debug__, unreachable definitions, annotations of locals.
EXCLUDED = {"test_compile.py", "test_grammar.py", "test_posix.py", "test_unicode.py", "pager.py", "_pylong.py"}
SILENT = {"NOP", "EXTENDED_ARG", "CACHE", "NOT_TAKEN", "TO_BOOL", "RETURN_VALUE", "RETURN_CONST"}


def sample(count: int) -> list[Path]:
    files = sorted([*LIBRARY.glob("*.py"), *LIBRARY.glob("*/*.py")])
    files = [f for f in files if f.name not in EXCLUDED and "bad" not in f.name and f.is_file()]
    return random.Random(7).sample(files, min(count, len(files)))


def operations(code: types.CodeType) -> list[tuple[str, object]]:
    """What the code does in order; jumps and returns depend on line numbers, so they are left out."""
    out: list[tuple[str, object]] = []
    for instr in dis.get_instructions(code):
        name = instr.opname.replace("_BORROW", "").replace("_CHECK", "")
        if name in SILENT or "JUMP" in name:
            continue
        value = None if instr.opcode in (*dis.hasjrel, *dis.hasjabs) else instr.argval
        if isinstance(value, types.CodeType):
            value = value.co_name
        if name in ("LOAD_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"):
            pair = value if isinstance(value, tuple) else tuple(value[1:-1].split(", "))
            pair = tuple(map(repr, pair))
            cut = name.index("FAST") + 4
            out += [(name[:cut], pair[0]), (name[cut + 1 :], pair[1])]
            continue
        if name == "STORE_NAME" and value == "__firstlineno__":
            out.pop()
            continue
        if name in ("LOAD_CONST", "LOAD_SMALL_INT"):
            if value is None:
                continue  # belongs to a return
            name = "LOAD_CONST"
        out.append((name, value if isinstance(value, frozenset) else repr(value)))
    return out


def differences(first: types.CodeType, second: types.CodeType, path: str = "") -> list[str]:
    path += "/" + first.co_name
    found = []
    for field in ("co_name", "co_flags", "co_varnames", "co_freevars", "co_cellvars", "co_names", "co_argcount"):
        if getattr(first, field) != getattr(second, field):
            found.append(f"{path}: {field} {getattr(first, field)} {getattr(second, field)}")
    if operations(first) != operations(second):
        pairs = zip(operations(first), operations(second))
        found.append(f"{path}: {next((pair for pair in pairs if pair[0] != pair[1]), 'length')}")
    inner = [[c for c in code.co_consts if isinstance(c, types.CodeType)] for code in (first, second)]
    if len(inner[0]) != len(inner[1]):
        return [*found, f"{path}: number of nested code objects"]
    for left, right in zip(*inner):
        found += differences(left, right, path)
    return found


def functions(tree: object) -> list[Func]:
    """Every function in a body."""
    if isinstance(tree, tuple):
        return [func for item in tree for func in functions(item)]
    if isinstance(tree, CodeUnit) or not hasattr(tree, "__dataclass_fields__"):
        return []
    found = [tree] if isinstance(tree, Func) else []
    for field in tree.__dataclass_fields__:
        found += functions(getattr(tree, field))
    return found


@pytest.mark.parametrize("path", sample(60), ids=lambda path: path.name)
def test_module(path: Path) -> None:
    unit, body = module(path.read_text(encoding="utf8", errors="surrogateescape"), VERSION)
    emitted = emit_module(unit, body)
    assert unit.live is not None
    assert differences(unit.live, compile(emitted.text, "<test>", "exec", dont_inherit=True)) == []
    assert not emitted.consts
    assert not emitted.renames


@pytest.mark.parametrize("path", sample(15), ids=lambda path: path.name)
def test_functions_alone(path: Path) -> None:
    """Each function printed by itself has the same variables, free variables in order included."""
    _, body = module(path.read_text(encoding="utf8", errors="surrogateescape"), VERSION)
    for func in functions(body):
        if not func.unit.flags & CO_OPTIMIZED:
            continue
        emitted = emit_function(func.unit, func.body)
        code = compile(emitted.text, "<test>", "exec", dont_inherit=True)
        for name in emitted.path:
            code = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
        original = func.unit.live
        assert original is not None
        for field in ("co_freevars", "co_cellvars", "co_varnames", "co_names", "co_argcount", "co_kwonlyargcount"):
            assert getattr(code, field) == getattr(original, field), (func.unit.name, field)
        # CO_NESTED and CO_METHOD (3.14+) depend on the surroundings
        assert (code.co_flags ^ original.co_flags) & ~(0x10 | 0x8000000) == 0


def test_walk_sees_nested_units() -> None:
    unit, _ = module("def f():\n    def g(): pass\n", VERSION)
    assert [inner.name for inner in walk(unit)] == ["<module>", "f", "g"]
