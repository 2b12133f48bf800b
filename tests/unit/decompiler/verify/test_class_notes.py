"""What the compiler notes in a class of 3.13+ about its own text may differ; what a program stores to such names may not."""

from __future__ import annotations

import pytest

from depyf.decompiler.verify import Status, Verdict, verify
from foreign import compiled_text
from tools.env.interpreters import VERSIONS

WRONG = {
    "a list in a module": ("__static_attributes__ = ('a', 'b')\n", "__static_attributes__ = ('b', 'a')\n"),
    "a list in a class": ("class C:\n  __static_attributes__ = ('a', 'b')\n", "class C:\n  __static_attributes__ = ('b', 'a')\n"),
    "a list before something else": (
        "class C:\n  __static_attributes__ = ('a', 'b')\n  def f(self): self.a = 1\n",
        "class C:\n  __static_attributes__ = ('b', 'a')\n  def f(self): self.a = 1\n",
    ),
    "a global list": (
        "class C:\n  global __static_attributes__\n  if x:\n    __static_attributes__ = ('a', 'b')\n",
        "class C:\n  global __static_attributes__\n  if x:\n    __static_attributes__ = ('b', 'a')\n",
    ),
    "the line in a module": ("__firstlineno__ = 1\n", "\n__firstlineno__ = 2\n"),
    "a module that begins as a class does": (
        "__module__ = __name__\n__qualname__ = 'C'\n__firstlineno__ = 1\n",
        "\n__module__ = __name__\n__qualname__ = 'C'\n__firstlineno__ = 2\n",
    ),
    "the line in a class": ("class C:\n  __firstlineno__ = 1\n", "\nclass C:\n  __firstlineno__ = 2\n"),
    "the line later in a class": ("class C:\n  x = 1\n  __firstlineno__ = 1\n", "\nclass C:\n  x = 1\n  __firstlineno__ = 2\n"),
    "the name of a class in another place": (
        "def f():\n  class C:\n    x = 1\n    __qualname__ = 'f.<locals>.C'\n",
        "class D:\n  def f():\n    class C:\n      x = 1\n      __qualname__ = 'D.f.<locals>.C'\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", WRONG)
def test_what_the_program_stores_counts(version: str, name: str) -> None:
    one, other = (compiled_text(version, text) for text in WRONG[name])
    assert proven(verify(one, one))
    assert not proven(verify(one, other))
    assert not proven(verify(other, one))


SAME = {
    "another line": ("class C:\n  def f(self): self.a = 1\n", "\n\nclass C:\n  def f(self): self.a = 1\n"),
    "in a function": ("def f():\n  class C: x = 1\n  return C\n", "\ndef f():\n  class C: x = 1\n  return C\n"),
    "with cells": (
        "class C:\n  def f(self): self.b = self.a = __class__\n",
        "\nclass C:\n  def f(self): self.b = self.a = __class__\n",
    ),
    "with two ends": (
        "class C:\n  def f(self): self.b = self.a = 1\n  if x: y = 1\n",
        "\nclass C:\n  def f(self): self.b = self.a = 1\n  if x: y = 1\n",
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", SAME)
def test_what_the_compiler_notes_does_not(version: str, name: str) -> None:
    one, other = (compiled_text(version, text) for text in SAME[name])
    assert {verdict.status for verdict in verify(one, other)} == {Status.IDENTICAL}


def proven(verdicts: tuple[Verdict, ...]) -> bool:
    return all(verdict.proven for verdict in verdicts)
