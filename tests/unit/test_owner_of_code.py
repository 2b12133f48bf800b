"""``decompile`` and ``get_code_owner`` look through whatever calls a Python function in the end."""

from __future__ import annotations

import functools
import types
from typing import Any

import pytest

import depyf
from depyf.utils import get_code_owner


def plain(x: int, n: int = 2) -> int:
    return x * n


class Callable:
    def __call__(self, x: int) -> int:
        return x + 9


class StaticCall:
    @staticmethod
    def __call__(x: int) -> int:
        return x + 10


class PartialCall:
    __call__ = functools.partial(plain, 3)


class Holder:
    def method(self) -> int:
        return 1

    partial = functools.partialmethod(method)

    @functools.lru_cache  # noqa: B019
    def cached(self) -> int:
        return 3

    @staticmethod
    def static() -> int:
        return 4

    @classmethod
    def of_class(cls) -> int:
        return 5

    @property
    def value(self) -> int:
        return 6

    @functools.cached_property
    def kept(self) -> int:
        return 7


PLAIN = plain.__code__
CASES = {
    "function": (plain, PLAIN),
    "partial": (functools.partial(plain, 1), PLAIN),
    "partial of partial": (functools.partial(functools.partial(plain, 1), n=2), PLAIN),
    "partial of an object": (functools.partial(Callable(), 1), Callable.__call__.__code__),
    "lru_cache": (functools.lru_cache(plain), PLAIN),
    "cache of partial": (functools.cache(functools.partial(plain, 1)), PLAIN),
    "partial of cache": (functools.partial(functools.cache(plain), 1), PLAIN),
    "method": (Holder().method, Holder.method.__code__),
    "cached method": (Holder().cached, Holder.__dict__["cached"].__wrapped__.__code__),
    "static method": (Holder.__dict__["static"], Holder.static.__code__),
    "class method": (Holder.__dict__["of_class"], Holder.of_class.__code__),
    "bound class method": (Holder.of_class, Holder.of_class.__code__),
    "property": (Holder.__dict__["value"], Holder.__dict__["value"].fget.__code__),
    "cached property": (Holder.__dict__["kept"], Holder.__dict__["kept"].func.__code__),
    "partial method": (Holder.__dict__["partial"], Holder.method.__code__),
    "partial method of an object": (Holder().partial, Holder.method.__code__),
    "object": (Callable(), Callable.__call__.__code__),
    "bound call": (Callable().__call__, Callable.__call__.__code__),
    "bound object": (types.MethodType(Callable(), 3), Callable.__call__.__code__),
    "bound partial": (types.MethodType(functools.partial(plain, 1), 3), PLAIN),
    "bound cache": (types.MethodType(functools.cache(plain), 3), PLAIN),
    "static call": (StaticCall(), StaticCall.__call__.__code__),
    "partial as call": (PartialCall(), PLAIN),
}


@pytest.mark.parametrize("name", CASES)
def test_found(name: str) -> None:
    target, code = CASES[name]
    owner = get_code_owner(target)
    assert type(owner) is types.FunctionType and owner.__code__ is code
    owner.__code__ = code  # of a method this cannot be set
    assert depyf.decompile(target) == depyf.decompile(owner)
    assert f"def {code.co_name}(" in depyf.decompile(target)


def test_a_decorated_function_is_what_runs() -> None:
    @functools.wraps(plain)
    def decorated(*arguments: Any) -> int:
        return plain(*arguments)

    assert get_code_owner(decorated) is decorated and "*arguments" in depyf.decompile(decorated)


class Itself:
    def __init__(self) -> None:
        self.__wrapped__ = self


NOTHING = {
    "a builtin": len,
    "a number": 3,
    "a text": "x",
    "a builtin method": [].append,
    "a partial of a builtin": functools.partial(len),
    "a partial of itself": Itself(),
}


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_found(name: str) -> None:
    target = NOTHING[name]
    for ask in (depyf.decompile, get_code_owner):
        with pytest.raises(depyf.DepyfError, match=f"{type(target).__name__} object has no"):
            ask(target)


def test_a_class_has_methods_and_no_code() -> None:
    with pytest.raises(depyf.DepyfError, match="int has no bytecode"):
        depyf.decompile(int)
    assert depyf.decompile(Holder).partition("class ")[1]
    for target in (int, Holder):
        with pytest.raises(depyf.DepyfError, match="type object has no"):
            get_code_owner(target)
