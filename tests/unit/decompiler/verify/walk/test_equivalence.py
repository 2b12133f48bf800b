"""The positive controls, and the relation's edges: what must be proven, what must be refuted, and with which words."""

from __future__ import annotations

import ast
import importlib.util
import textwrap
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.verify import Status, Verdict, verify
from rewrites import REWRITES, rewritten


def unit(source: str | ast.Module) -> CodeUnit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = source if isinstance(source, ast.Module) else textwrap.dedent(source)
        code = compile(tree, "<test>", "exec", dont_inherit=True)
    return CodeUnit.from_code(code)


def only(original: str, recompiled: str, **options: bool) -> Verdict:
    """The verdict of the one function in each text."""
    return verify(unit(original), unit(recompiled), **options)[1]  # type: ignore[arg-type]


def subject_module() -> ast.Module:
    path = Path(__file__).parents[4] / "negative" / "subjects.py"
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", REWRITES)
def test_every_subject_under_each_rewrite(name: str) -> None:
    tree = subject_module()
    assert not [v for v in verify(unit(tree), unit(rewritten(tree, name))) if not v.proven]


def test_every_subject_under_all_rewrites() -> None:
    tree = subject_module()
    verdicts = verify(unit(tree), unit(rewritten(tree)))
    assert not [v for v in verdicts if not v.proven]
    assert sum(v.status is Status.EQUIVALENT for v in verdicts) > 30


@pytest.mark.parametrize("module", ["argparse", "contextlib", "asyncio.tasks", "tempfile", "dataclasses", "weakref"])
def test_the_standard_library_under_all_rewrites(module: str) -> None:
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    assert not [v for v in verify(unit(tree), unit(rewritten(tree))) if not v.proven]


@pytest.mark.parametrize("name", ["argparse", "textwrap"])
def test_compiled_twice_is_identical(name: str) -> None:
    found = importlib.util.find_spec(name)
    assert found is not None and found.origin is not None
    text = Path(found.origin).read_text(encoding="utf-8")
    assert {v.status for v in verify(unit(text), unit("\n\n" + text))} == {Status.IDENTICAL}


PROVEN = {
    "a fresh list is its element": ("def f(x): return g([x][0], (x, 1)[1])", "def f(x): return g(x, 1)"),
    "star call of a display": ("def f(x): return g(*(x, 1), **{'k': x})", "def f(x): return g(x, 1, k=x)"),
    "swap through a tuple": (
        "def f(a, b, c, d):\n  a, b, c, d = d, c, b, a\n  return g(a, b, c, d)",
        "def f(a, b, c, d):\n  __temp_1 = a\n  __temp_2 = b\n  a = d\n  b = c\n  c = __temp_2\n  d = __temp_1\n"
        "  del __temp_1, __temp_2\n  return g(a, b, c, d)",
    ),
    "a bool decided earlier": (
        "def f(a):\n  if a is None: return g()\n  return h()",
        "def f(a):\n  __temp_1 = a is None\n  if __temp_1: return g()\n  if not __temp_1: return h()",
    ),
    "not in is the inverse of in": (
        "def f(a, b):\n  if a in b: return 1\n  return 2",
        "def f(a, b):\n  if a not in b: return 2\n  else: return 1",
    ),
    "a flag variable": (
        "def f(xs):\n  for x in xs:\n    if x: break\n  else: g()\n  h()",
        "def f(xs):\n  __temp_1 = False\n  for x in xs:\n    if x:\n      __temp_1 = True\n      break\n"
        "  if not __temp_1: g()\n  h()",
    ),
    "a dispatch variable": (
        "def f(a, b):\n  if a: g()\n  else: h()\n  k()",
        "def f(a, b):\n  __temp_1 = 0\n  while True:\n    if __temp_1 == 0:\n      if a: __temp_1 = 1\n"
        "      else: __temp_1 = 2\n    elif __temp_1 == 1:\n      g()\n      __temp_1 = 3\n    elif __temp_1 == 2:\n"
        "      h()\n      __temp_1 = 3\n    else:\n      k()\n      return",
    ),
    "a comprehension's list may sit in a temporary": (
        "def f(a, b):\n  return g([1, a], b if a else a)",
        "def f(a, b):\n  __temp_1 = g\n  __temp_2 = [1, a]\n  if a: __temp_3 = b\n  else: __temp_3 = a\n"
        "  return __temp_1(__temp_2, __temp_3)",
    ),
    "a cell by way of a closure": (
        "def f(x):\n  def h(): return x\n  return h.__closure__[0] if 0 else g(h)",
        "def f(x):\n  def h(): return x\n  return g(h)",
    ),
    "constants folded": (
        "def f(): return g(1 + 2, 'a' 'b', -(1))",
        "def f():\n  __temp_1 = 1\n  return g(__temp_1 + 2, 'ab', -1)",
    ),
    "a silent loop": ("def f():\n  while True: pass", "def f():\n  while True:\n    __temp_1 = 1\n    __temp_2 = 3"),
    "a silent loop in codes of two lengths": (
        "def f(a):\n  if g:\n    while True: a = a,",
        "def f(a):\n  __temp_1 = g\n  if __temp_1:\n    while True: a = a,",
    ),
}


@pytest.mark.parametrize("name", PROVEN)
def test_proven(name: str) -> None:
    verdict = only(*PROVEN[name])
    assert verdict.proven, verdict


REFUTED = {
    "constants are typed": ("def f(): return 1", "def f(): return True", "the constant 1 against the constant True"),
    "negative zero": ("def f(): return g(0.0)", "def f(): return g(-0.0)", "0.0 against the constant -0.0"),
    "constants inside tuples": ("def f(): return (1, (0.0,))", "def f(): return (1, (-0.0,))", "operand 1 of 1"),
    "a lost handler": ("def f(a):\n  try: g(a)\n  except: h()", "def f(a):\n  g(a)", "leaving the frame"),
    "another order": (
        "def f(a):\n  return g(a.x, a.y)",
        "def f(a):\n  __temp_1 = a.y\n  return g(a.x, __temp_1)",
        "different things",
    ),
    "an unbound temporary": (
        "def f(a):\n  if a: b = 1\n  else: b = g()\n  return b",
        "def f(a):\n  if a: b = 1\n  else: __temp_1 = g(); b = __temp_1\n  return __temp_1",
        "may be unbound",
    ),
    "an unbound local": (
        "def f(a):\n  if a: x = 1\n  g()\n  return x",
        "def f(a):\n  x = None\n  if a: x = 1\n  g()\n  return x",
        "the local x",
    ),
    "a lost store": ("def f(a):\n  x = g(a)\n  return 1", "def f(a):\n  g(a)\n  return 1", "only by the original"),
    "two lists for one": (
        "def f(a):\n  x = y = [a]\n  return x, y",
        "def f(a):\n  x = [a]\n  y = [a]\n  return x, y",
        "does not get the same value",
    ),
    "a double test": (
        "def f(a):\n  if a: return 1\n  return 2",
        "def f(a):\n  if a: return 1\n  if not a: return 2",
        "different things",
    ),
    "signature": ("def f(a, b=1): pass", "def f(b, a=1): pass", "parameter a"),
    "docstring": ("def f():\n  'x'", "def f():\n  'y'", "docstring"),
    "generator": ("def f(a):\n  return g(a)", "def f(a):\n  return g(a)\n  yield", "generator"),
    "closure": ("def f(a):\n  return lambda: a", "def f(a):\n  return lambda a=a: a", "cell variables"),
    "the handled exception": (
        "def f(a):\n  try: g()\n  except: pass\n  h()",
        "def f(a):\n  try: g()\n  except: h(); return\n  h()",
        "different exceptions",
    ),
}


@pytest.mark.parametrize("name", REFUTED)
def test_refuted(name: str) -> None:
    original, recompiled, reason = REFUTED[name]
    verdict = only(original, recompiled)
    assert verdict.status is Status.WRONG
    assert reason in verdict.reason


HELD = (
    "def f(a):\n  a.g(a.x)\n  h()",
    "def f(a):\n  __temp_1 = a.g\n  __temp_2 = a.x\n  __temp_1(__temp_2)\n  h()",
    "def f(a):\n  __temp_1 = a.g\n  __temp_2 = a.x\n  __temp_1(__temp_2)\n  del __temp_1, __temp_2\n  h()",
)


def test_a_temporary_must_not_outlive_the_slot_it_stands_for() -> None:
    verdict = only(HELD[0], HELD[1])
    assert verdict.status is Status.UNVERIFIED and "lifetimes differ: __temp_1 still holds" in verdict.reason
    assert only(HELD[0], HELD[2]).proven
    assert only(HELD[0], HELD[1], lifetimes=False).proven


def test_a_value_must_not_die_early() -> None:
    verdict = only(
        "def f(a):\n  x = a.x\n  g(x, h(), a.y(x.z))",
        "def f(a):\n  x = a.x\n  x = x\n  g(x, h(), a.y(x.z))",
    )
    assert verdict.proven


def test_temporaries_must_not_show_in_the_local_namespace() -> None:
    verdict = only(
        "def f(a):\n  return a.g(locals())",
        "def f(a):\n  __temp_1 = a.g\n  return __temp_1(locals())",
    )
    assert verdict.status is Status.UNVERIFIED and "would see the temporary __temp_1" in verdict.reason


def test_the_iterator_assumption_is_recorded() -> None:
    outer = unit("def f(xs): return (x for x in xs)").consts[0]
    (original,) = [item for item in outer.consts if isinstance(item, CodeUnit)]
    recompiled = unit("def g(it):\n  for x in it: yield x").consts[0]
    (verdict,) = verify(original, recompiled)
    if verdict.proven:  # 3.14 and later call iter() in the generator: nothing to assume
        assert original.version >= (3, 14) or "iter()" in verdict.reason


def test_nested_failures_are_reported_where_they_are() -> None:
    verdicts = verify(
        unit("def f():\n  def a(): return 1\n  def b(): return 2\n  return a, b"),
        unit("def f():\n  def a(): return 1\n  def b(): return 3\n  return a, b"),
    )
    assert [v.qualname for v in verdicts] == ["<module>", "f", "f.<locals>.a", "f.<locals>.b"]
    assert [v.status.value for v in verdicts] == ["UNVERIFIED", "UNVERIFIED", "IDENTICAL", "WRONG"]
    assert verdicts[1].reason == "nested f.<locals>.b is not proven"


def test_bindings_stand_for_constants() -> None:
    marker = object()
    original = unit("def f(): return g(1000)").consts[0]  # from 3.14 on, 0 is no constant
    consts = tuple(marker if item == 1000 else item for item in original.consts)
    original = replace(original, consts=consts)
    recompiled = unit("def f(): return g(__const_m)").consts[0]
    assert not verify(original, recompiled)[0].proven
    assert verify(original, recompiled, bindings={"__const_m": marker})[0].proven


def test_the_budget_is_linear_and_kept() -> None:
    text = "def f(a):\n" + "".join(f"  if a.x{i}: a = g{i}(a)\n" for i in range(400)) + "  return a"
    verdict = only(text, text.replace("return a", "__temp_1 = a\n  return __temp_1"))
    assert verdict.proven
