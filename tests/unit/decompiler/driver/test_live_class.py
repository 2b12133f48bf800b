"""``depyf.decompile`` of a class: a ``class`` statement with its methods."""

from __future__ import annotations

from typing import Any

import pytest

import depyf
from depyf.errors import DepyfError

SOURCE = r'''
import enum
import functools


class Base:
    """The first."""

    limit = 1

    def __init__(self, first=1, *, second=(2,)):
        super().__init__()
        self.__hidden = first

    @property
    def hidden(self):
        """What is hidden."""
        return self.__hidden

    @hidden.setter
    def hidden(self, value):
        self.__hidden = value

    @staticmethod
    def plain(a, b=float("inf")):
        return a, b

    @classmethod
    def of_class(cls):
        return [cls for _ in ()]

    def __private(self):
        def inner():
            return """two
lines"""

        return inner

    alias = __private
    key = lambda self, q=4: q

    class Inner:
        def method(self):
            return __class__


class Meta(type):
    pass


class Derived(Base, metaclass=Meta):
    thing = object()

    @functools.lru_cache
    def cached(self):
        return 1

    def default(self, value=thing):
        return value


def closed(k):
    class Closed:
        def method(self):
            def inner():
                return k, self

            return inner

    return Closed


class Number(enum.Enum):
    ONE = 1

    def doubled(self):
        return self.value * 2
'''
MADE: dict[str, Any] = {"__name__": "made"}
exec(compile(SOURCE, "made.py", "exec", dont_inherit=True), MADE)

SHOWN = '''class Base:
    """The first."""

    limit = 1

    def __init__(self, first=1, *, second=(2,)):
        super().__init__()
        self.__hidden = first

    @property
    def hidden(self):
        """What is hidden."""
        return self.__hidden

    @hidden.setter
    def hidden(self, value):
        self.__hidden = value

    @staticmethod
    def plain(a, b=1e309):
        return a, b

    @classmethod
    def of_class(cls):
        return [cls for _ in ()]

    def __private(self):
        def inner():
            return "two\\nlines"

        return inner

    alias = __private
    key = lambda self, q=4: q

    class Inner:
        def method(self):
            return __class__
'''


def test_a_class_with_its_methods() -> None:
    assert depyf.decompile(MADE["Base"]) == SHOWN


def test_what_has_no_literal_is_named() -> None:
    text = depyf.decompile(MADE["Derived"])
    front, first, *_ = text.split("\n")
    assert first == "class Derived(Base, metaclass=Meta):"
    assert front.startswith("# Not complete: ") and "Derived.thing" in front and "__default_value" in front
    assert "the decorators of Derived.cached" in front
    assert "    def default(self, value=__default_value):\n" in text


def test_variables_around_the_class() -> None:
    text = depyf.decompile(MADE["closed"](3))
    assert text.startswith("def __make_Closed(k):\n    class Closed:\n        def method(self):\n")
    assert text.endswith("    return Closed\n")
    space: dict[str, Any] = {}
    exec(text, space)
    made = space["__make_Closed"](5)()
    assert made.method()() == (5, made)


def test_what_a_class_is_given_by_others() -> None:
    text = depyf.decompile(MADE["Number"])
    assert "    def doubled(self):\n        return self.value * 2\n" in text
    assert "UNVERIFIED" not in text


def test_variables_of_one_name_are_told() -> None:
    def method_of(k: Any) -> Any:
        def method(self: Any) -> Any:
            return k

        return method

    one, other = method_of(1), method_of(2)
    other.__code__ = other.__code__.replace(co_name="other")
    text = depyf.decompile(type("Two", (), {"method": one, "other": other}))
    assert "different variables around them that are called k" in text


def test_a_class_of_another_language() -> None:
    with pytest.raises(DepyfError, match="no class that Python code made"):
        depyf.decompile(int)
