"""Functions that begin in the middle, as Dynamo's resume functions do."""

from __future__ import annotations

import contextlib
import dis
import inspect
import sys
import types
from dataclasses import replace

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.exception_table import table_entries
from depyf.decompiler.bytecode.host.assemble import Op, assemble, disassemble, table_of
from depyf.decompiler.bytecode.host.handler_depths import with_one_depth
from depyf.decompiler.driver.pipeline import decompile_code
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.options import Options
from depyf.decompiler.verify.assumptions import ASSIGNED_NOTE, CONTAINERS_NOTE, LISTS_NOTE, STRINGS_NOTE, VARIABLE_NOTE
from depyf.decompiler.verify.whole import verify
from depyf.errors import DecompilationError


def counting(first, a, n, g):
    while n > 0:
        g(a)
        n = n - 1
    return a


def resumed(function):
    """``function`` from after the call of its first statement on, whose result is the first parameter."""
    ops = disassemble(function.__code__)
    behind = next(op for op in ops if op.name == "POP_TOP")
    start = [op for op in ops[:1] if op.name == "RESUME"]
    place = ops[0].position
    head = [Op(dis.opmap["LOAD_FAST"], 0, place), Op(dis.opmap["JUMP_FORWARD"], 0, place, behind)]
    return assemble(function.__code__, [*start, *head, *ops[len(start) :]])


def test_a_loop_that_is_entered_with_a_value_on_the_stack():
    code = resumed(counting)
    found = decompile_code(code, name="f")
    assert found.proven
    assert "__temp_" not in found.source and "g(a)" in found.source, found.source
    namespace = {}
    exec(found.source, namespace)
    for function in (types.FunctionType(code, {}), namespace["f"]):
        calls = []
        assert function(None, "a", 3, calls.append) == "a"
        assert calls == ["a", "a"]


def entering(a):
    with contextlib.suppress(a):
        a.b()
        a.c()
    return a


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there are no tables of handlers before 3.11")
def test_entries_of_one_handler_at_two_depths():
    code = entering.__code__
    assert with_one_depth(code) is code
    entries = table_entries(code.co_exceptiontable)
    start, end, target, depth, lasti = entries[0]
    middle = next(i.offset for i in dis.get_instructions(code) if i.argval == "c") - 2
    assert start < middle < end
    torn = [(start, middle, target, depth + 1, lasti), (middle, end, target, depth, lasti), *entries[1:]]
    mended = with_one_depth(code.replace(co_exceptiontable=table_of(torn)))
    assert [entry[3] for entry in table_entries(mended.co_exceptiontable)] == [depth, *[entry[3] for entry in entries]]
    assert decompile_code(mended).source == decompile_code(code).source
    for_the_deeper = [(*entry[:3], entry[3] + (entry[2] != target), entry[4]) for entry in torn]
    again = with_one_depth(code.replace(co_exceptiontable=table_of(for_the_deeper)))
    assert again.co_exceptiontable == mended.co_exceptiontable, "what cleans up after it was made for the deeper one"


def handing_on(functions, values, a):
    mark = True
    call = functions[-1]
    del functions[-1]
    arguments = [functions, values, *values[-1]]
    del values[-1]
    del functions
    del values
    mark = False  # noqa: F841
    return call(*arguments) + a


RESUMED = GeneratorContract(resumed=("handing_on",), tracing_flags=("mark",), boxed_parameters=("functions", "values"))


def on_the_stack(code):
    """``handing_on`` as Dynamo writes it: what the call is given stays on the stack."""
    names = {code.co_varnames.index(name) for name in ("call", "arguments")}
    ops = disassemble(code)
    call = [op for op in ops if op.name == "PUSH_NULL"]
    kept = [
        op
        for op in ops
        if op.name not in ("PUSH_NULL", "LIST_TO_TUPLE")
        and not (op.name in ("STORE_FAST", "LOAD_FAST") and op.arg in names)
    ]
    first = next(at for at, op in enumerate(kept) if op.name == "LOAD_FAST")  # ``functions[-1]``
    return assemble(code, [*kept[:first], *call, *kept[first:]])


def written(code, promises):
    return decompile_code(code, options=Options(promises=promises), name="f")


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the bytecode is that of 3.11")
def test_what_is_taken_off_a_list_of_the_program_itself():
    code = on_the_stack(handing_on.__code__)
    found = written(code, RESUMED)
    assert found.proven
    assert found.source.endswith("return functions.pop()(functions, values, *values.pop()) + a\n"), found.source
    assert "mark" not in found.source
    assert LISTS_NOTE in found.verdicts[0].reason and VARIABLE_NOTE in found.verdicts[0].reason
    namespace = {}
    exec(found.source, namespace)
    for function in (types.FunctionType(code, {}), namespace["f"]):
        functions, values = [len, lambda functions, values, *rest: (len(functions), len(values), *rest)], [[1], [2, 3]]
        assert function(functions, values, (4,)) == (1, 1, 2, 3, 4)
        assert functions == [len] and values == [[1]]


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the bytecode is that of 3.11")
@pytest.mark.parametrize(
    "promises",
    [
        GeneratorContract(),
        GeneratorContract(resumed=("other",), tracing_flags=("mark",), boxed_parameters=("functions", "values")),
        GeneratorContract(resumed=("handing_on",), tracing_flags=("mark",), boxed_parameters=("values",)),
        GeneratorContract(resumed=("handing_on",), boxed_parameters=("other",)),
    ],
)
def test_lists_that_nothing_was_promised_about(promises):
    found = written(on_the_stack(handing_on.__code__), promises)
    assert found.proven
    assert "functions.pop()" not in found.source and "del functions[-1]" in found.source, found.source


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the bytecode is that of 3.11")
def test_an_item_that_is_read_and_another_that_is_deleted():
    ops = disassemble(on_the_stack(handing_on.__code__))
    second = [op for op in ops if op.name == "DELETE_SUBSCR"][1]
    position = ops.index(second) - 2
    ops[position] = next(
        op for op in ops if op.name == "LOAD_FAST" and op.arg == handing_on.__code__.co_varnames.index("a")
    )
    found = written(assemble(handing_on.__code__, ops), RESUMED)
    assert found.proven and "values.pop()" not in found.source and "del a[-1]" in found.source, found.source


def test_a_mark_that_something_may_look_up():
    def handing_on(a):
        mark = True
        return a, locals()

    found = written(handing_on.__code__, RESUMED)
    assert found.proven and "mark = True" in found.source

    def handing_on(a):
        mark = True
        return a(mark)

    found = written(handing_on.__code__, RESUMED)
    assert found.proven and "mark = True" in found.source


def test_the_proof_wants_the_promise():
    def handing_on(values):
        item = values[-1]
        del values[-1]
        return item

    def taking(values):
        item = values.pop()
        return item

    original = CodeUnit.from_code(handing_on.__code__)
    other = CodeUnit.from_code(
        taking.__code__.replace(
            co_name="handing_on", **({"co_qualname": handing_on.__qualname__} if sys.version_info >= (3, 11) else {})
        )
    )
    assert verify(original, other, promises=RESUMED)[0].reason == LISTS_NOTE  # nothing sees the list between the two
    for promises in (
        GeneratorContract(),
        replace(RESUMED, resumed=("other",)),
        replace(RESUMED, boxed_parameters=("a",)),
    ):
        assert not verify(original, other, promises=promises)[0].proven


def rest_of(first, a, b):
    b.append(first)
    for item in a:
        b.append(item)
    return b


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there is no PUSH_NULL before 3.11")
@pytest.mark.parametrize(("variable", "gone"), [("item", True), ("b", False)])
def test_a_variable_without_a_value_is_set_to_nothing(variable, gone):
    """The parameter ``b`` loses what it has: that is no resume function of torch's, and no statement but a deletion."""
    ops = disassemble(rest_of.__code__)
    slot = rest_of.__code__.co_varnames.index(variable)
    place, start = ops[0].position, [op for op in ops[:1] if op.name == "RESUME"]
    empty = [Op(dis.opmap["PUSH_NULL"], 0, place), Op(dis.opmap["STORE_FAST"], slot, place)]
    code = assemble(rest_of.__code__, [*start, *empty, *ops[len(start) :]])
    options = Options(promises=GeneratorContract(resumed=("rest_",)))
    if not gone:
        with contextlib.suppress(DecompilationError):
            assert not decompile_code(code, options=options).proven
        return
    found = decompile_code(code, options=options)
    assert found.proven and found.source.endswith(inspect.getsource(rest_of)), found.source
    assert types.FunctionType(code, {})(1, [2], []) == [1, 2]


def rest_list(items, value, a):
    return [*items, value + 1, *a]


def rest_tuple(items, value, a):
    return *items, value, *a


def rest_set(items, value, a):
    return {*items, value, *a}


def rest_dict(items, value, a):
    return {**items, "k": value, **a}


def rest_call(items, value, a):
    return value(*items, value, *a, k=value)


def rest_loop(items, value, a):
    return [*items, value or a, *a][0] if a else {*a}


def half_filled(function):
    """``function`` as Dynamo writes it, where ``items`` is the container that the display fills."""
    ops = disassemble(function.__code__)
    fills = next(op for op in ops if op.name in ("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"))
    makes = next(op for op in reversed(ops[: ops.index(fills)]) if op.name.startswith("BUILD_"))
    assert not any(op.target is fills or op.target is makes for op in ops)
    return assemble(function.__code__, [op for op in ops if op is not fills and op is not makes])


FILLED = {rest_list: [1], rest_tuple: [1], rest_set: {1}, rest_dict: {"i": 1}, rest_call: [1], rest_loop: [1]}
HALF_FILLED = Options(promises=GeneratorContract(resumed=("rest_",), display_only=True))


@pytest.mark.parametrize("function", FILLED, ids=lambda function: function.__name__)
def test_a_container_that_is_handed_on_half_filled(function):
    code = half_filled(function)
    found = decompile_code(code, options=HALF_FILLED)
    assert found.proven and found.source.endswith(inspect.getsource(function)), found.source
    assert CONTAINERS_NOTE in found.verdicts[0].reason
    namespace = {}
    exec(found.source, namespace)
    value, a = (
        ((lambda *args, k: (args, k)) if function is rest_call else 2),
        ({"z": 3} if function is rest_dict else [3]),
    )
    results = [
        each(FILLED[function].copy(), value, a) for each in (types.FunctionType(code, {}), namespace[function.__name__])
    ]
    assert results[0] == results[1]


def rest_twice(items, value):
    return [*items, value], items


@pytest.mark.parametrize(
    ("function", "promises"), [(rest_twice, HALF_FILLED.promises), (rest_list, GeneratorContract(resumed=("other_",)))]
)
def test_a_container_that_may_be_seen_elsewhere_is_not_copied(function, promises):
    """The second time ``items`` is read it is what was filled; without the promise somebody else may have it."""
    with contextlib.suppress(DecompilationError):
        found = decompile_code(half_filled(function), options=Options(promises=promises))
        assert "[*items" not in found.source, found.source


def test_a_set_that_code_fills_further_is_not_copied_where_it_runs():
    """The copy may give its items in another order."""
    assert decompile_code(half_filled(rest_set), options=HALF_FILLED).proven
    with contextlib.suppress(DecompilationError):
        found = decompile_code(half_filled(rest_set), options=Options(promises=GeneratorContract(resumed=("rest_",))))
        assert "{*items" not in found.source, found.source


@pytest.mark.parametrize("function", [rest_list, rest_dict])
def test_the_proof_does_not_copy_a_container_without_the_promise(function):
    original, copy = CodeUnit.from_code(half_filled(function)), CodeUnit.from_code(function.__code__)
    assert verify(original, copy, promises=HALF_FILLED.promises)[0].proven
    assert not verify(original, copy, promises=GeneratorContract(resumed=("other_",)))[0].proven


def rest_variable(old, value):
    new = old
    new += abs(value)
    return new


def rest_parameter(old, value):
    old += abs(value)
    return [old, -1]


def rest_condition(old, value):
    old *= abs(value) if value else 2
    return (old,)


def half_assigned(function):
    """``function`` as Dynamo writes it: what is stored and loaded again is left on the stack."""
    ops = disassemble(function.__code__)
    for at, op in enumerate(ops[1:], 1):
        if op.name.startswith("LOAD_FAST") and ops[at - 1].name == "STORE_FAST" and ops[at - 1].arg == op.arg:
            return assemble(function.__code__, [*ops[: at - 1], *ops[at + 1 :]])
    raise AssertionError(function.__name__)


HALF_ASSIGNED = Options(promises=GeneratorContract(resumed=("rest_",), display_only=True, variables=frozenset()))


@pytest.mark.parametrize("function", [rest_variable, rest_parameter, rest_condition])
def test_an_augmented_assignment_that_is_cut_in_two(function):
    code = half_assigned(function)
    found = decompile_code(code, options=HALF_ASSIGNED)
    assert found.proven and found.source.endswith(inspect.getsource(function)), found.source
    assert ASSIGNED_NOTE in found.verdicts[0].reason
    namespace = {}
    exec(found.source, namespace)
    for value in (0, -3):
        results = [
            each([1], value + 5) if function is rest_condition else each(2, value)
            for each in (function, types.FunctionType(code, globals()), namespace[function.__name__])
        ]
        assert results[0] == results[1] == results[2]
    original, text = CodeUnit.from_code(code), CodeUnit.from_code(function.__code__)
    assert verify(original, text, promises=HALF_ASSIGNED.promises)[0].proven
    assert not verify(original, text)[0].proven
    # code that runs keeps the values of its parameters
    assert verify(original, text, promises=GeneratorContract(resumed=("rest_",)))[0].proven == (
        function is rest_variable
    )


def test_a_variable_that_something_may_look_up_is_not_set_early():
    def rest_shown(old):
        new = old
        new += abs(locals())
        return new

    found = decompile_code(half_assigned(rest_shown), options=HALF_ASSIGNED)
    assert "    new = old\n" not in found.source and not found.proven, found.source


def rest_known(old, new):
    new = old
    new += abs(new)
    return new


def test_a_variable_that_has_a_value_keeps_it_until_it_gets_the_new_one():
    found = decompile_code(half_assigned(rest_known), options=HALF_ASSIGNED)
    assert found.proven and "    old += abs(new)\n    new = old\n" in found.source, found.source


def rest_boxed(values):
    first = values[0]
    values[0] = None
    second = values[1]
    values[1] = None
    del second
    return first.real


def rest_boxed_and_seen(values):
    first = values[0]
    values[0] = None
    second = values[1]
    values[1] = None
    values.append(second)
    return first.real


def boxed(function):
    """``function`` as Dynamo writes it: ``first`` is on the stack."""
    slot = function.__code__.co_varnames.index("first")
    ops = [
        op
        for op in disassemble(function.__code__)
        if not (op.arg == slot and op.name in ("STORE_FAST", "LOAD_FAST", "LOAD_FAST_BORROW"))
    ]
    return assemble(function.__code__, ops)


BOXED = GeneratorContract(resumed=("rest_",), display_only=True, boxed_parameters=("values",), variables=frozenset())


def test_the_values_of_a_frame_in_a_list():
    code = boxed(rest_boxed)
    found = written(code, BOXED)
    text = "    ___stack0, second = values\n    del second\n    return ___stack0.real\n"
    assert found.proven and found.source.endswith(text), found.source
    assert LISTS_NOTE in found.verdicts[0].reason
    namespace = {}
    exec(found.source, namespace)
    assert namespace["f"]([2, 3]) == types.FunctionType(code, {})([2, 3]) == 2


@pytest.mark.parametrize(
    ("function", "promises"),
    [
        (rest_boxed_and_seen, BOXED),
        (rest_boxed, GeneratorContract(resumed=("rest_",), boxed_parameters=("values",), variables=frozenset())),
        (
            rest_boxed,
            GeneratorContract(
                resumed=("rest_",), display_only=True, boxed_parameters=("other",), variables=frozenset()
            ),
        ),
    ],
)
def test_a_list_of_values_that_somebody_may_see(function, promises):
    found = written(boxed(function), promises)
    assert found.proven and "values[0] = None" in found.source, found.source


def rest_text(part, value):
    return f"{part} and {value!r:>4}"


def test_a_formatted_string_that_is_cut_in_two():
    ops = disassemble(rest_text.__code__)
    formats = next(op for op in ops if op.name.startswith("FORMAT"))
    code = assemble(rest_text.__code__, [op for op in ops if op is not formats])
    found = decompile_code(code, options=HALF_FILLED)
    assert found.proven and found.source.endswith(inspect.getsource(rest_text)), found.source
    assert STRINGS_NOTE in found.verdicts[0].reason
    assert types.FunctionType(code, {})("a", 1) == rest_text("a", 1)
    original, text = CodeUnit.from_code(code), CodeUnit.from_code(rest_text.__code__)
    assert not verify(original, text, promises=GeneratorContract(resumed=("other_",)))[0].proven
