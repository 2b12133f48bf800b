"""Functions that begin in the middle of a loop, as Dynamo's resume functions may."""

from __future__ import annotations

import dis
import sys
import types

import pytest

from depyf.decompiler.bytecode.host.assemble import Op, assemble, disassemble
from depyf.decompiler.driver.pipeline import decompile_code
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.options import Options

RESUMED = Options(promises=GeneratorContract(resumed=("rest_",), display_only=True, variables=frozenset()))


def cut(function, *, loops):
    """``function`` from after its first call on; the parameters up to ``value`` are on the stack, ``loops`` iterators first."""
    ops = disassemble(function.__code__)
    call = next(at for at, op in enumerate(ops) if op.name.startswith("CALL"))
    start = [op for op in ops[:1] if op.name == "RESUME"]
    place = ops[0].position
    head = []
    for number in range(function.__code__.co_varnames.index("value") + 1):
        head.append(Op(dis.opmap["LOAD_FAST"], number, place))
        if number < loops and sys.version_info >= (3, 15):  # an iterator has two slots
            head.append(Op(dis.opmap["PUSH_NULL"], 0, place))
    jump = Op(dis.opmap["JUMP_FORWARD"], 0, place, ops[call + 1])
    return assemble(function.__code__, [*start, *head, jump, *ops[len(start) :]])


def rest_of_items(items, total, value, g):
    for item in items:
        total = total + g(item)
        total = total * 2
    return total


def rest_with_end(items, total, value, g):
    for item in items:
        total += g(item)
        if total > 40:
            break
        total = total * 2
    else:
        total = -total
    return [total]


def rest_of_try(items, total, value, g):
    for item in items:
        try:
            new = total + g(item)
        except ZeroDivisionError:
            continue
        total = new
    return total


def rest_of_two(outer, inner, value, each, item, g):
    for each in outer:
        for item in inner:
            g(item)
            g(-item)
        g(each)
    return g


def rest_of_while(total, value, g):
    while total < 40:
        total = total + g(total)
        g(0)
    return total


TEXTS = {
    rest_of_items: """
    total = total + value
    total = total * 2
    for item in items:
        total = total + g(item)
        total = total * 2
    return total
""",
    rest_with_end: """
    total += value
    if not total > 40:
        total = total * 2
        for item in items:
            total += g(item)
            if total > 40:
                break
            total = total * 2
        else:
            total = -total
    return [total]
""",
    rest_of_two: """
    g(-item)
    for item in inner:
        g(item)
        g(-item)
    g(each)
    for each in outer:
        for item in inner:
            g(item)
            g(-item)
        g(each)
    return g
""",
}


OTHER_TEXTS = {
    rest_with_end: """
    total += value
    if total > 40:
        return [total]
    total = total * 2
    for item in items:
        total += g(item)
        if total > 40:
            break
        total = total * 2
    else:
        total = -total
    return [total]
""",
}


def outcome(function, arguments):
    """What a call gives, and what it calls."""
    log = []

    def g(item):
        log.append(item)
        return item + 4 // (len(log) - 2)  # the second call raises

    try:
        result = function(*[iter(a) if isinstance(a, list) else a for a in arguments], g)
    except (ZeroDivisionError, UnboundLocalError) as error:
        result = type(error).__name__
    return (result is g or result), log


@pytest.mark.parametrize(
    "function", [rest_of_items, rest_with_end, rest_of_try, rest_of_two, rest_of_while], ids=lambda f: f.__name__
)
def test_the_rest_of_the_first_turn_stands_before_the_loop(function):
    lists = {"items", "outer", "inner"}
    code = function.__code__
    loops = len(lists.intersection(code.co_varnames[: code.co_argcount]))
    if function is rest_of_try and sys.version_info < (3, 11):
        pytest.skip("control cannot jump into a try")
    resumed = cut(function, loops=loops)
    found = decompile_code(resumed, options=RESUMED)
    assert found.proven
    assert "__temp_" not in found.source, found.source
    # where the compiler has copied the ``return`` at the end there are two
    texts = TEXTS.get(function, ""), OTHER_TEXTS.get(function, "")
    assert any(text in found.source for text in texts if text or function not in TEXTS), found.source
    first = code.co_firstlineno
    assert all(line is None or first <= line < first + 20 for _, line in found.linemap), found.linemap
    namespace = {}
    exec(found.source, namespace)
    for given in ([], [1], [1, 2, 3], [20, 30]):
        for value in (0, 7, 50):
            arguments = [given if name in lists else value for name in code.co_varnames[: code.co_argcount - 1]]
            wanted = outcome(types.FunctionType(resumed, {}), arguments)
            assert outcome(namespace[function.__name__], arguments) == wanted
