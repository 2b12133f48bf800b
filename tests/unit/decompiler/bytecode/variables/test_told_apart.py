"""The same slots under other names: what code does, on the running interpreter, under names that no source has."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.variables.slots import slots_of
from depyf.decompiler.bytecode.variables.told_apart import told_apart
from depyf.decompiler.driver.pipeline import Decompiled, decompile_code, decompile_unit
from depyf.decompiler.verify.assumptions import CODE_NAME_NOTE, NAME_NOTE, PARAMETER_NOTE, SLOT_NOTE
from depyf.decompiler.verify.keyword_defaults import OTHER_DEFAULTS
from depyf.decompiler.verify.signature import NAMED, NO_CLASS
from depyf.decompiler.verify.verdict import Status
from depyf.errors import BytecodeError

ARITHMETIC = "def f(a, b):\n    t = a * b + 1\n    return [t, a, b]\n"
Change = Callable[[types.CodeType], types.CodeType]


def changed(source: str, change: Change, *path: str) -> types.CodeType:
    """The module of ``source``, in which the code at the end of ``path`` is what ``change`` makes of it."""

    def within(code: types.CodeType, rest: tuple[str, ...]) -> types.CodeType:
        if not rest:
            return change(code)
        consts = [
            within(c, rest[1:]) if isinstance(c, types.CodeType) and c.co_name == rest[0] else c for c in code.co_consts
        ]
        return code.replace(co_consts=tuple(consts))

    return within(compile(source, "names", "exec", 0, True), path)


def function(space_of: types.CodeType | str) -> Callable[..., object]:
    space: dict[str, object] = {}
    exec(compile(space_of, "text", "exec", 0, True) if isinstance(space_of, str) else space_of, space)
    found = space["f"]
    assert callable(found)
    return found


def shown(code: types.CodeType) -> Decompiled:
    return decompile_unit(CodeUnit.from_code(code))


def same(code: types.CodeType, *arguments: object) -> Decompiled:
    """The text of a module, proven, whose ``f`` does what the original does."""
    found = shown(code)
    assert [v for v in found.verdicts if not v.proven] == [], found.source
    assert function(found.source)(*arguments) == function(code)(*arguments)
    return found


@pytest.mark.parametrize(
    ("names", "note"),
    [
        (("a", "b", "a"), SLOT_NOTE),
        (("a", "x", "x"), SLOT_NOTE),
        (("x", "x", "x"), PARAMETER_NOTE),
        (("", "", ""), PARAMETER_NOTE),
        (("a", "b", ""), SLOT_NOTE),
        (("if", "if", "t"), PARAMETER_NOTE),
        (("None", "__debug__", "t"), PARAMETER_NOTE),
        (("\ufb01", "b", "t"), PARAMETER_NOTE),
        (("a_2", "a", "a"), SLOT_NOTE),
    ],
)
def test_locals_of_one_name(names: tuple[str, ...], note: str) -> None:
    found = same(changed(ARITHMETIC, lambda code: code.replace(co_varnames=names), "f"), 2, 3)
    assert found.verdicts[0].status is Status.IDENTICAL
    assert found.verdicts[1].status is Status.EQUIVALENT
    assert note in found.verdicts[1].reason


def test_a_live_function() -> None:
    code = changed(ARITHMETIC, lambda code: code.replace(co_varnames=("a", "b", "a")), "f")
    found = decompile_code(function(code).__code__)
    assert found.source == "def f(a, b):\n    a_2 = a * b + 1\n    return [a_2, a, b]\n"
    assert found.verdicts[0].status is Status.EQUIVALENT
    assert SLOT_NOTE in found.verdicts[0].reason
    assert found.code is not None
    assert types.FunctionType(found.code, {})(2, 3) == [7, 2, 3]


@pytest.mark.parametrize("names", [("len", "t"), ("a", "len"), ("len", "len"), ("min", "len")])
def test_a_local_is_called_like_a_global_that_is_read(names: tuple[str, ...]) -> None:
    source = "def f(a):\n    t = len(a) + min(a)\n    return [t, a, (lambda: len(a))()]\n"
    taken = names[0]

    def change(code: types.CodeType) -> types.CodeType:
        cells = {"co_cellvars": (taken,)}
        return code.replace(co_varnames=names, **cells)

    same(changed(source, change, "f"), [1, 2])


STATEMENTS = """
def f(n):
    found = []
    for i in range(n):
        for j in [i, i + 1]:
            if j > 2:
                continue
            found.append((i, j))
    try:
        k = found[0]
        m = k[9]
    except IndexError as error:
        found.append(str(error))
        del k
    else:
        found.append(m)
    with open(__file__) as p:
        q = p.name
    return found, n, i, j
"""


@pytest.mark.parametrize("names", [["I"], ["a", "b"], ["", "x"], ["range", "n", "str"]])
def test_loops_handlers_and_deletions(names: list[str]) -> None:
    source = STATEMENTS.replace("open(__file__)", "memoryview(b'')").replace("q = p.name", "q = p.nbytes")

    def change(code: types.CodeType) -> types.CodeType:
        return code.replace(co_varnames=tuple((names * 9)[: len(code.co_varnames)]))

    same(changed(source, change, "f"), 3)


CLOSURES = """
def f(x, y):
    u = x + 1
    v = y * 2
    def g(z):
        nonlocal u
        u += z
        w = [x + i for i in range(z)]
        def h():
            return u, v, x, z, w
        return h
    return g(2)(), g(y)(), u
"""


@pytest.mark.parametrize("name", ["I", "", "if", "range"])
def test_cells_and_free_variables_of_one_name(name: str) -> None:
    """Slots are told by their order alone; 3.11 and later mix cells with locals, so that names are exchanged where marshal writes them."""
    import marshal

    from tools.fuzz import namesubjects

    renamer = namesubjects.Renamer(0)
    renamer.style = "one"
    renamer.changed = lambda names: [name] * len(names)
    code = marshal.loads(renamer.written(compile(CLOSURES, "names", "exec", 0, True)))
    if any(unit.slots for unit in units(CodeUnit.from_code(code))) or name != "I":
        same(code, 3, 4)


def test_the_parameter_that_is_a_cell_keeps_its_cell() -> None:
    source = "def f(x, y):\n    def g():\n        return x, y\n    return g()\n"
    same(changed(source, lambda code: code.replace(co_varnames=("x", "y", "x")), "f"), 1, 2)


@pytest.mark.parametrize("name", ["a b", "", "<lambda>", "if", "None", "<module>", "<listcomp>", "h", "__x"])
def test_a_function_is_called_what_it_is_stored_as(name: str) -> None:
    found = same(changed(ARITHMETIC, lambda code: code.replace(co_name=name), "f"), 2, 3)
    assert found.source == ARITHMETIC
    assert found.verdicts[1].status is Status.EQUIVALENT
    assert any(note in found.verdicts[1].reason for note in (CODE_NAME_NOTE, NAME_NOTE))


EVERYTHING = """class A:
    def m(self):
        return 1


def f(n):
    def inner(x):
        return x + n

    return inner(1), A().m(), (lambda q: q)(n), [x for x in range(n)], list(y for y in range(n))
"""


@pytest.mark.parametrize("name", ["I", "", "<lambda>", "if", "f"])
def test_every_code_object_has_one_name(name: str) -> None:
    def change(code: types.CodeType) -> types.CodeType:
        consts = tuple(change(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
        return code.replace(co_name=name, co_consts=consts)

    assert same(change(compile(EVERYTHING, "names", "exec", 0, True)), 3).source == EVERYTHING


@pytest.mark.parametrize("reader", ["sorted(locals())", "sorted(vars())", "eval('a')", "dir()"])
def test_code_that_looks_at_its_variables(reader: str) -> None:
    source = f"def f(a):\n    t = a\n    u = t\n    return {reader}\n"
    found = shown(changed(source, lambda code: code.replace(co_varnames=("a", "t", "t")), "f"))
    assert found.verdicts[1].status is Status.UNVERIFIED
    assert found.verdicts[1].reason == NAMED


def test_a_dotted_name_of_a_program() -> None:
    source = "def f(a):\n    t = a\n    return sorted(locals())\n"
    found = shown(changed(source, lambda code: code.replace(co_varnames=("a", ".0")), "f"))
    assert found.verdicts[1].reason == NAMED


def test_super_looks_for_a_free_variable_by_its_name() -> None:
    source = "class A:\n    def m(self):\n        return super().__init__()\ndef f():\n    return A().m()\n"
    code = changed(source, lambda code: code.replace(co_freevars=("x",)), "A", "m")
    with pytest.raises(RuntimeError):
        function(code)()
    verdict = next(v for v in shown(code).verdicts if v.qualname == "A.m")
    if "super" in compile(source, "s", "exec", 0, True).co_consts[0].co_consts[1].co_names:
        assert (verdict.status, verdict.reason) == (Status.UNVERIFIED, NO_CLASS) or verdict.status is Status.FAILED


def test_slots_without_names_are_refused() -> None:
    unit = next(
        u
        for u in units(CodeUnit.from_code(changed(ARITHMETIC, lambda c: c.replace(co_varnames=("a", "a", "a")), "f")))
        if u.argcount
    )
    with pytest.raises(BytecodeError, match="two of its variables are called 'a'"):
        lower(unit)
    assert [name for name, _ in slots_of(told_apart(unit))] == ["a", "a_2", "a_3"]


ANNOTATED = """
def f(a: int, b: str = "x", /, c: (int if len("") else str) = 3, *d: int, e: list, **g: dict) -> list:
    t = [a, b, c, d, e, g]
    return t
"""


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
@pytest.mark.parametrize(
    "names",
    [
        dict(zip("abcdegt", ("I", "II", "III", "IIII", "IIIII", "IIIIII", "IIIIIII"))),
        dict.fromkeys("abcdegt", "I"),
        {"a": "b", "b": "a"},
        {"c": "a b", "g": "if"},
        {"t": "a", "a": "t"},
    ],
)
def test_annotations_tell_what_parameters_are_called(future: str, names: dict[str, str]) -> None:
    def change(code: types.CodeType) -> types.CodeType:
        return code.replace(co_varnames=tuple(names.get(name, name) for name in code.co_varnames))

    found = shown(changed(future + ANNOTATED, change, "f"))
    assert [v.reason for v in found.verdicts if not v.proven] == []
    assert PARAMETER_NOTE in found.verdicts[-1].reason
    text, original = function(found.source), function(ANNOTATED)
    assert list(inspect.signature(text).parameters) == list(inspect.signature(original).parameters)
    assert list(text.__annotations__) == list(original.__annotations__)


def test_annotations_of_some_parameters() -> None:
    """They are the first that can be: which ones nothing tells."""
    source = "def f(a, b: int, c, d: str):\n    return a, b, c, d\n"
    code = changed(source, lambda code: code.replace(co_varnames=("a", "I", "c", "l")), "f")
    found = same(code, 1, 2, 3, 4)
    assert found.source.startswith("def f(b: int, d: str, c, l):")


def test_a_parameter_with_a_default_by_name_keeps_its_name() -> None:
    """It gets the default that its own name has, whatever the annotations say: no text has both."""
    source = "def f(*, k: int = 1):\n    return k\n"
    found = shown(changed(source, lambda code: code.replace(co_varnames=("I",)), "f"))
    assert [v.status for v in found.verdicts] == [Status.FAILED, Status.IDENTICAL]


@pytest.mark.parametrize("source", ["def f(*, k, m=4):\n    return k, m\n", "def f(*, m, k=4):\n    return k, m\n"])
def test_two_parameters_share_a_default(source: str) -> None:
    """Called without them, both get it; in a text one of them would have none."""
    name = source[source.index("=") - 1]
    code = changed(source, lambda code: code.replace(co_varnames=(name, name)), "f")
    assert function(code)() == (4, 4)
    found = shown(code)
    assert found.verdicts[1].status is Status.UNVERIFIED
    assert found.verdicts[1].reason == OTHER_DEFAULTS


def test_what_is_right_stays() -> None:
    source = (
        EVERYTHING
        + CLOSURES
        + "class B:\n    __p = 1\n    def __q(self, *, __r=2):\n        def __s():\n            return __r\n        return __s\n"
    )
    unit = CodeUnit.from_code(compile(source, "names", "exec", 0, True))
    found = told_apart(unit)
    assert found.given is unit
    assert all(one is other for one, other in zip(found.consts, unit.consts))
    assert told_apart(found) is found


def test_many_variables_of_one_name() -> None:
    """Each new name is found at once: the work grows with the number of variables."""
    source = "def f():\n" + "".join(f"    v{i} = {i}\n" for i in range(3000)) + "    return v2999\n"
    code = changed(source, lambda code: code.replace(co_varnames=("v" * 1000,) * 3000), "f")
    unit = told_apart(CodeUnit.from_code(code))
    names = next(u for u in units(unit) if u.name == "f").varnames
    assert len(set(names)) == 3000
    assert max(map(len, names[1:])) < 50


def test_a_comprehension_has_a_variable_without_a_name() -> None:
    """Inlined (3.12+) or not."""
    source = "def f(n):\n    x = n\n    return [y for y in range(x)], x\n"
    for name in ("", "I"):
        code = changed(source, lambda code, name=name: code.replace(co_varnames=(name,) * len(code.co_varnames)), "f")
        same(code, 3)
