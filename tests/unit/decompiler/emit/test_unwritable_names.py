"""Names that programs give and no one types: keywords (Hy), and what is no identifier (pytest's rewritten asserts)."""

import ast

import pytest

from depyf import decompile
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.options import Options
from depyf.decompiler.verify.assumptions import STAND_IN_NOTE
from depyf.decompiler.verify.signature import NAMED
from depyf.decompiler.verify.verdict import Status
from depyf.decompiler.verify.whole import verify
from depyf.errors import DecompilationError

SOURCE = """
import KK as GG
class CC:
    KK = 1
    def method(self, KK, *, other=2):
        global GG
        GG = self.KK = KK
        return lambda: GG.KK(KK, KK=other)
def KK(GG=None):
    del GG
    return [GG for GG in KK()], CC(KK=1)
"""


def named(source, **names):
    """The code of ``source`` where identifiers have other names, as a program that makes syntax trees gives them."""

    def renamed(value):
        if isinstance(value, str):
            return names.get(value, value)
        if isinstance(value, list):
            return [renamed(item) for item in value]
        if isinstance(value, ast.AST) and not isinstance(value, ast.Constant):
            for field, inner in ast.iter_fields(value):
                setattr(value, field, renamed(inner))
        return value

    return compile(renamed(ast.parse(source)), "names", "exec")


def module(code):
    return decompile_unit(CodeUnit.from_code(code), Options())


def test_keywords_are_written_exactly():
    result = module(named(SOURCE, KK="class", GG="is", CC="lambda"))
    assert {verdict.status for verdict in result.verdicts} == {Status.IDENTICAL}
    assert "def 𝐜lass(𝐢s=None):" in result.source
    assert "𝐢s.𝐜lass(𝐜lass, 𝐜lass=other)" in result.source


def test_a_live_function_called_like_a_keyword():
    space = {}
    exec(named("def KK(KK=1):\n    return KK + 1\n", KK="def"), space)
    result = decompile(space["def"].__code__)
    assert result.startswith("def 𝐝ef(𝐝ef")
    again = {}
    exec(result, again)
    assert again["def"](3) == 4


def test_constants_are_no_names():
    code = named("def f(KK):\n    return KK\n", KK="@None")
    assert all(verdict.proven for verdict in module(code).verdicts)


def test_names_of_a_module_have_stand_ins():
    code = named("import os as GG\ndef f():\n    LL = GG.path\n    return LL, GG\n", GG="@path", LL="@local")
    result = module(code)
    assert result.source == "import os as _path\n\n\ndef f():\n    _local = _path.path\n    return _local, _path\n"
    assert {verdict.status for verdict in result.verdicts} == {Status.EQUIVALENT}
    assert all(STAND_IN_NOTE in verdict.reason for verdict in result.verdicts)


@pytest.mark.parametrize("roles", [{"GG": "a b"}, {"GG": "a b", "HH": "a_b"}])
def test_a_stand_in_is_no_name_of_the_module(roles):
    result = module(named("GG = 1\nHH = 2\ndef f():\n    return GG, HH\n", **roles))
    assert all(verdict.proven for verdict in result.verdicts)
    names = {}
    exec(result.source, names)
    assert names["f"]() == (1, 2)


@pytest.mark.parametrize("name", ["<print>", "@_name__", "@_x"])
def test_a_stand_in_is_no_builtin_and_nothing_a_module_has(name):
    code = named("class C:\n    def f(self):\n        return GG\n", GG=name)
    result = module(code)
    assert all(verdict.proven for verdict in result.verdicts)
    space = {"__name__": "m"}
    exec(result.source, space)
    with pytest.raises(NameError):
        space["C"]().f()


def test_an_attribute_has_no_stand_in():
    result = module(named("f = g.KK\ng.KK = 1\n", KK="a b"))
    assert result.source == 'f = getattr(g, "a b")\nsetattr(g, "a b", 1)\n'
    assert result.verdicts[0].proven and "getattr, setattr" in result.verdicts[0].reason


def test_nothing_is_imported_from_a_module_by_such_a_name():
    result = module(named("def f():\n    from m import KK as x\n    return x\n", KK="a b"))
    assert [verdict.status for verdict in result.verdicts] == [Status.UNVERIFIED, Status.FAILED]
    with pytest.raises(DecompilationError):
        space = {}
        exec(named("def f():\n    from m import KK as x\n    return x\n", KK="a b"), space)
        decompile(space["f"])


def test_only_stand_ins_are_taken_for_others():
    original = CodeUnit.from_code(named("GG = f()\n", GG="@path"))
    for text, stand_ins in [
        ("_path = f()\n", {}),
        ("_path = f()\n", {"_path": "@other"}),
        ("x.a = f()\n", {"a": "@path"}),
    ]:
        made = CodeUnit.from_code(compile(text, "names", "exec"))
        assert not verify(original, made, stand_ins=stand_ins)[0].proven


@pytest.mark.parametrize("reader", ["locals()", "sorted(vars())", "eval(x)", "sys._getframe().f_locals"])
@pytest.mark.parametrize(
    "text", ["def f(x):\n    KK = x\n    return {}\n", "def f(x):\n    KK = x\n    return {}, lambda: KK\n"]
)
def test_code_that_looks_at_its_variables_sees_another_name(text, reader):
    source = text.format(reader)
    result = module(named(source, KK="a b"))
    assert result.verdicts[1].status is Status.UNVERIFIED
    assert result.verdicts[1].reason == NAMED
    space = {}
    exec(named(source, KK="a b"), space)
    assert decompile(space["f"].__code__).startswith("# Not complete: a_b is the name 'a b'")


def test_cells_have_other_names_where_nothing_looks_at_them():
    text = "def f(x):\n    KK = x\n\n    def g():\n        nonlocal KK\n        KK += 1\n        return KK\n\n    return g\n"
    result = module(named(text, KK="a b"))
    assert result.source == text.replace("KK", "a_b")
    assert all(verdict.proven for verdict in result.verdicts)


def test_an_attribute_of_a_class_pattern_has_no_stand_in():
    text = "def f(x):\n    match x:\n        case C(KK=1):\n            return 2\n"
    shown = module(named(text, KK="a b"))
    assert [verdict.status for verdict in shown.verdicts] == [Status.UNVERIFIED, Status.FAILED]
    assert "no pattern asks for an attribute whose name is no identifier" in shown.source
    space = {}
    exec(named(text, KK="a b"), space)
    assert decompile(space["f"].__code__).startswith("# Not complete: a_b is the name 'a b'")


@pytest.mark.parametrize("text", ["class C:\n    pass\n", "@x\nclass C(x, y=1):\n    pass\n"])
def test_no_source_stores_a_class_under_another_name(text):
    code = compile(text, "names", "exec")
    shown = module(code.replace(co_names=tuple("D" if name == "C" else name for name in code.co_names)))
    assert shown.verdicts[0].status is Status.FAILED
    assert shown.verdicts[0].reason == "no source makes a class without storing it under the name that it is given"
    assert "raise NotImplementedError" in shown.source
