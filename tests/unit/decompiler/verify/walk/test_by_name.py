"""What text says by calling a builtin: attributes that no identifier names, and modules in the middle of an expression."""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import dis
import types

import pytest

from depyf import decompile
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.driver.pipeline import decompile_code, decompile_unit
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.options import Options
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.assumptions import BUILTIN_NOTE, NOTED_NOTE
from foreign import VERSIONS, compiled_text, walk

ATTRIBUTES = """
def loads(x, y):
    return x.AA + x.AA(y).AA + x.BB(*y)


def stores(x, y, f):
    x.AA = y
    x.AA = f(y)
    f(x).AA = f(y)
    f(x).AA = y
    x.AA = y.BB = f()
    a = x.AA = f()
    return a


def augmented(x, f):
    x.AA += 1
    f(x).AA *= f()
    x.AA.b -= 2
    x.AA[f()] -= 2
    x.b.AA -= 2
    return x


def unpacked(x, y):
    x.AA, a = y
    for x.AA in y:
        a = x.AA
    for b, x.AA in [(1, y)]:
        a = b
    with x(y) as x.AA:
        a(b)
    return a


def deleted(x, f):
    del x.AA, f().AA
    try:
        del x.b
        x.AA = f()
    except AttributeError as e:
        x.AA = e
        e.AA = x
    finally:
        del x.AA


def tested(x, f):
    if x.AA and x.AA.BB or not f.AA:
        return x.AA < f.AA < 3
    while x.AA:
        x.AA = x.AA.next
    return lambda: x.AA if f.AA else getattr(x, f)


def uses_the_builtin(x, f):
    return getattr(x.AA, f), getattr, x.AA, setattr(x, f, getattr)


class C(D.AA):
    def m(self, y):
        super().AA
        super().AA(y)
        super(C, self).AA(y)
        self.AA = y
        return super().__init__(y)


@f.AA
def g(): pass
f.AA = 1
del f.AA
"""
NAMES = {"AA": "0", "BB": "a b"}


def renamed(unit, names):
    """``unit`` with other names of attributes; the compiler notes those of ``self`` in a constant, too."""

    def inside(const):
        if isinstance(const, CodeUnit):
            return renamed(const, names)
        return tuple([names.get(item, item) for item in const]) if type(const) is tuple else const

    return dataclasses.replace(
        unit,
        live=None,
        names=tuple([names.get(name, name) for name in unit.names]),
        consts=tuple([inside(const) for const in unit.consts]),
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "names", [NAMES, {"AA": "None", "BB": "a.b"}, {"AA": "\ufb01", "BB": ""}], ids=["0", "None", "fi"]
)
def test_attributes_that_no_identifier_names(version, names):
    unit = renamed(compiled_text(version, ATTRIBUTES), names)
    result = decompile_unit(unit)
    assert [v for v in result.verdicts if not v.proven] == []
    assert (
        "a_b" not in result.source
        and "iter(" not in result.source
        and "_0 " not in result.source.replace("temp_0 ", "")
    )
    reasons = {v.qualname: v.reason for v in result.verdicts}
    assert BUILTIN_NOTE + "getattr" in reasons["loads"] and BUILTIN_NOTE + "delattr, setattr" in reasons["deleted"]
    assert "super" in reasons["C.m"] or version < "3.12" or version in ("3.8", "3.9")
    assert NOTED_NOTE in reasons["C"] or version not in ("3.13", "3.14", "3.15")


@pytest.mark.parametrize("version", VERSIONS)
def test_plain_translation(version):
    result = decompile_unit(renamed(compiled_text(version, ATTRIBUTES), NAMES), Options(idioms=False))
    assert [v for v in result.verdicts if not v.proven] == []


class Traced:
    """An object that writes down what happens to it."""

    def __init__(self, name, log):
        object.__setattr__(self, "_traced", (name, log))

    def __getattr__(self, attr):
        name, log = object.__getattribute__(self, "_traced")
        log.append(("get", name, attr))
        if attr == "0" and len(log) > 60:
            return 0
        return Traced(f"{name}.{attr}", log)

    def __setattr__(self, attr, value):
        name, log = object.__getattribute__(self, "_traced")
        log.append(("set", name, attr, repr(value)))

    def __delattr__(self, attr):
        name, log = object.__getattribute__(self, "_traced")
        log.append(("del", name, attr))
        if attr == "b":
            raise AttributeError(attr)

    def __repr__(self):
        return object.__getattribute__(self, "_traced")[0]


def _operation(kind):
    def method(self, *args):
        name, log = object.__getattribute__(self, "_traced")
        log.append((kind, name, *[type(arg).__name__ for arg in args]))
        return Traced(f"{name}.{kind}", log)

    return method


for kind in (
    "__call__",
    "__add__",
    "__iadd__",
    "__imul__",
    "__isub__",
    "__getitem__",
    "__setitem__",
    "__enter__",
    "__exit__",
):
    setattr(Traced, kind, _operation(kind))
Traced.__iter__ = lambda self: iter([Traced("first", object.__getattribute__(self, "_traced")[1]), self])


def live(name, source=ATTRIBUTES, names=NAMES):
    """A function of ``source`` of the running interpreter, with such names."""

    def changed(code):
        return code.replace(
            co_names=tuple([names.get(item, item) for item in code.co_names]),
            co_consts=tuple([changed(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]),
        )

    module = compile(source, "names", "exec", dont_inherit=True)
    code = next(c for c in module.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    return changed(code)


@pytest.mark.parametrize("name", ["loads", "stores", "augmented", "unpacked", "deleted", "tested", "uses_the_builtin"])
def test_it_does_the_same(name):
    code = live(name)
    found = decompile_code(code)
    assert found.proven
    space = {}
    exec(found.source, space)

    def run(function):
        log = []
        with contextlib.suppress(TypeError):  # the order of what is no number
            function(Traced("x", log), Traced("y", log))
        with contextlib.suppress(TypeError):
            function(Traced("x", log), Traced("y", log), Traced("f", log))
        return log

    expected = run(types.FunctionType(code, {}, name))
    assert run(space[name]) == expected != []
    if name not in ("tested", "uses_the_builtin"):  # which look the builtin up themselves
        hidden = {"getattr": None, "setattr": None, "delattr": None}
        assert run(types.FunctionType(found.code, hidden, name)) == expected


def loaded(code):
    return [(instr.opname, instr.argval) for instr in dis.get_instructions(code)]


def test_the_code_that_runs_holds_the_builtins_themselves():
    found = decompile_code(live("deleted"))
    assert {builtins.setattr, builtins.delattr} <= set(filter(callable, found.code.co_consts))
    loads = [name for name, arg in loaded(found.code) if name.startswith("LOAD_GLOBAL")]
    assert len(loads) == 1  # AttributeError


def test_the_verdict_of_a_text_is_not_hidden():
    """The text is complete: nothing is said in front of it."""
    assert decompile(live("loads")).startswith("def loads")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("original", "text", "proven"),
    [
        ("return x.AA", "return getattr(x, '0')", True),
        ("return x.AA", "return getattr(x, '1')", False),
        ("return x.AA", "return getattr(y, '0')", False),
        ("return x.AA", "return getattr(x, '0', None)", False),
        ("return x.AA", "return hasattr(x, '0')", False),
        ("x.AA = y", "setattr(x, '0', y)", True),
        ("x.AA = y", "setattr(y, '0', x)", False),
        ("x.AA = y", "delattr(x, '0')", False),
        ("return y(x.AA)", "return y(setattr(x, '0', y))", False),
        ("x.AA = y()", "setattr(x, '0', y())", True),
        ("x().AA = y()", "setattr(x(), '0', y())", False),
        ("del x.AA", "delattr(x, '0')", True),
        ("del x.AA", "delattr(x, 'AA')", False),
        ("return y, x.AA, getattr", "return y, getattr(x, '0'), getattr", True),
    ],
)
def test_only_what_it_says(version, original, text, proven):
    def function(body):
        module = compiled_text(version, f"def f(x, y):\n    {body}\n")
        return next(unit for unit in walk(module) if unit.name == "f")

    first, second = renamed(function(original), NAMES), function(text)
    named = {name: getattr(builtins, name) for name in ("getattr", "setattr", "delattr", "hasattr")}
    for given in ({"bindings": named}, {"builtins": named}) if not text.endswith("getattr") else ({"builtins": named},):
        assert verify(first, second, **given)[0].proven is proven
    assert not verify(first, second)[0].proven


MODULES = """
def value(x):
    return x + torch.M.M.cpu


def argument(x):
    return x(a_b.M.M, key=a.M.M)


def kept(x):
    y = a_b.M.M
    x.module = a.M.M
    c.M.M
    return y


def tested(x):
    if a.M.M or x:
        return [b.M.M.c for i in x]
"""


def importing(unit: CodeUnit) -> CodeUnit:
    """``unit`` with ``a_b.M.M`` as Dynamo loads the module a.b: ``LOAD_CONST 0; BUILD_TUPLE 0; IMPORT_NAME``."""
    spec = spec_for(unit.version)
    number = {name: at for at, name in reversed(list(enumerate(spec.opnames))) if name}
    consts = (*[importing(c) if isinstance(c, CodeUnit) else c for c in unit.consts], 0)
    names, out, at = [name.replace("_", ".") for name in unit.names], bytearray(unit.code), 0
    while at < len(out):
        end = at + 2 + spec.caches[out[at]]
        if spec.opnames[out[at]] == "LOAD_GLOBAL":
            module = out[at + 1] >> (unit.version >= (3, 11))
            for _ in range(2):
                assert spec.opnames[out[end]] == "LOAD_ATTR"
                end += 2 + spec.caches[out[end]]
            module <<= 2 * (unit.version >= (3, 15))  # two bits say how lazy it is
            made = (number["LOAD_CONST"], len(consts) - 1, number["BUILD_TUPLE"], 0, number["IMPORT_NAME"], module)
            out[at:end] = bytes(made) + bytes((number["NOP"], 0)) * ((end - at - len(made)) // 2)
        at = end
    return dataclasses.replace(unit, code=bytes(out), consts=consts, names=tuple(names), live=None, stacksize=20)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("idioms", [True, False], ids=["pretty", "plain"])
def test_a_module_as_a_value(version, idioms):
    result = decompile_unit(importing(compiled_text(version, MODULES)), Options(idioms=idioms))
    assert [v for v in result.verdicts if not v.proven] == []
    assert BUILTIN_NOTE + "__import__" in result.verdicts[1].reason
    if idioms:
        for line in (
            'return x + __import__("torch").cpu',
            'return x(__import__("a.b"), key=__import__("a"))',
            'y = __import__("a.b")',
            'x.module = __import__("a")',
            '    __import__("c")\n',
            'if __import__("a") or x:',
            '[__import__("b").c for i in x]',
        ):
            assert line in result.source


def test_a_module_that_the_guards_have_asked_for():
    """For Dynamo's code reading a module again may come in another order."""
    unit = next(
        unit
        for unit in walk(importing(compiled_text("3.%d" % __import__("sys").version_info[1], MODULES)))
        if unit.name == "value"
    )
    result = decompile_unit(
        unit, Options(generated=True, promises=GeneratorContract(reads_first=True, variables=frozenset()))
    )
    assert 'return x + __import__("torch").cpu' in result.source and result.proven


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["__debug__", "\ud800", "\n# x", "'\"\\", "\u202ex", "class", "ª", "x" * 3000])
def test_names_of_every_kind(version, name):
    result = decompile_unit(renamed(compiled_text(version, ATTRIBUTES), {"AA": name, "BB": name + "!"}))
    assert [v for v in result.verdicts if not v.proven] == []
    assert "super().__debug__" in result.source or name != "__debug__"


@pytest.mark.parametrize("version", VERSIONS)
def test_modules_of_names_that_no_source_has(version):
    text = "def f(x):\n    import MM\n    import MM as y\n    return MM, y\nimport MM as z\n"
    result = decompile_unit(renamed(compiled_text(version, text), {"MM": "a-b"}))
    assert [v for v in result.verdicts if not v.proven] == []
    assert '    y = __import__("a-b")\n' in result.source and '\nz = __import__("a-b")\n' in result.source


IMPORTS = """
def f(x, E):
    y = a_b.M.M
    q = a.M.M
    try:
        x = a.M.M.b
    except E:
        x = c.M.M
    with c.M.M as h:
        pass
    for i in d_e.M.M:
        i()
    del d_e.M.M.x
    d_e.M.M.x += 1
    return lambda: x(y, q, h, g.M.M)
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_module_wherever_a_value_stands(version):
    result = decompile_unit(importing(compiled_text(version, IMPORTS)))
    assert [v for v in result.verdicts if not v.proven] == []
    assert "__temp" not in result.source and 'return lambda: x(y, q, h, __import__("g"))' in result.source
