"""Following an expression gives what compiling it gives."""

from __future__ import annotations

import ast
import types
from collections import defaultdict
from typing import Any

import pytest

from depyf.sources.live.guards.traceless import ITEM, compiled, item, value_of

CASES = [
    "L['a']", "L['o'].b", "L['o'].items[1]['k']", "G['f'](L['a'], other=2)", "L['a'] == 3", "L['a'] is None", "not L['a']",
    "L['a'] in (1, 2, 3)", "1 not in [L['a']]", "len(L['o'].items)", "L['missing']", "L['o'].missing", "unknown", "L['d']['new']",
    "L['a'] + 1", "L['o'].items[0:1]", "L['a'] < 4 < 5", "[x for x in (1,)][0]", "{1: 2}[1]", "-1", "f(*[1, 2])", "f(**{'other': 2})",
    "L['o'].items[5]", "(L['a'], 'x')", "G['f'](1)(2)", "lambda: 1", "L['a'] if True else 0", "True and L['a']", "'%s' % L['a']",
]  # fmt: skip


def outcome(asked: Any) -> Any:
    try:
        found = asked()
        return "a function" if isinstance(found, types.FunctionType) else (type(found), found)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("text", CASES)
def test_it_is_what_eval_gives(text: str) -> None:
    def f(value: Any, other: int = 0) -> Any:
        return [value, other]

    held = types.SimpleNamespace(b=7, items=({"x": 1}, {"k": 2}))
    names = {"L": {"a": 3, "o": held, "d": defaultdict(int)}, "G": {"f": f}, "f": f}
    tree = ast.parse(text, mode="eval").body
    wanted = outcome(lambda: eval(compiled(text), {ITEM: item, **names}))
    assert outcome(lambda: value_of(tree, names)) == wanted
    assert not names["L"]["d"]  # type: ignore[index]


def test_a_long_path_takes_no_recursion() -> None:
    held: Any = types.SimpleNamespace()
    held.me = held
    text = "L['o']" + ".me" * 5000
    tree: ast.expr = ast.Subscript(ast.Name("L", ast.Load()), ast.Constant("o"), ast.Load())
    for _ in range(text.count(".me")):
        tree = ast.Attribute(tree, "me", ast.Load())
    assert value_of(tree, {"L": {"o": held}}) is held
