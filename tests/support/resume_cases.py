"""Resume functions as Dynamo writes them, each with its text and with texts as a wrong rewrite would give them."""

from __future__ import annotations

import sys
import types

from depyf.decompiler.bytecode.host.assemble import Op, assemble, disassemble
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.verify.assumptions import ASSIGNED_NOTE, CONTAINERS_NOTE, LISTS_NOTE, STRINGS_NOTE, VARIABLE_NOTE

SHOWN = GeneratorContract(resumed=("rest",), display_only=True, boxed_parameters=("values",), variables=frozenset())
RUNS = GeneratorContract(resumed=("rest",), tracing_flags=("mark",), boxed_parameters=("functions", "values"))


def function(parameters: str, *body: str) -> types.CodeType:
    module = compile("\n    ".join([f"def rest({parameters}):", *body]), "<rest>", "exec")
    return next(const for const in module.co_consts if isinstance(const, types.CodeType))


def half_filled(code: types.CodeType) -> types.CodeType:
    """Its first parameter is the container itself."""
    ops = disassemble(code)
    fills = next(op for op in ops if op.name in ("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"))
    makes = next(op for op in reversed(ops[: ops.index(fills)]) if op.name.startswith("BUILD_"))
    return assemble(code, [op for op in ops if op is not fills and op is not makes])


def formatted(code: types.CodeType) -> types.CodeType:
    """What it is given is a part of the string."""
    ops = disassemble(code)
    formats = next(op for op in ops if op.name.startswith("FORMAT"))
    return assemble(code, [op for op in ops if op is not formats])


def on_the_stack(code: types.CodeType) -> types.CodeType:
    """The variable ``kept`` is on the stack."""
    slot = code.co_varnames.index("kept")
    loads = ("STORE_FAST", "LOAD_FAST", "LOAD_FAST_BORROW")
    return assemble(code, [op for op in disassemble(code) if not (op.arg == slot and op.name in loads)])


def half_assigned(code: types.CodeType) -> types.CodeType:
    """The old value is on the stack."""
    ops = disassemble(code)
    at = next(
        at
        for at, op in enumerate(ops)
        if at and op.name.startswith("LOAD_FAST") and (ops[at - 1].name, ops[at - 1].arg) == ("STORE_FAST", op.arg)
    )
    return assemble(code, [*ops[: at - 1], *ops[at + 1 :]])


def calling(code: types.CodeType) -> types.CodeType:
    """As Dynamo calls an inner frame: what the call is given stays on the stack."""
    gone = {code.co_varnames.index(name) for name in ("call", "arguments")}
    kept: list[Op] = []
    null = []
    for op in disassemble(code):
        if op.name == "PUSH_NULL":
            null.append(op)
        elif op.name != "LIST_TO_TUPLE" and not (op.name in ("STORE_FAST", "LOAD_FAST") and op.arg in gone):
            kept.append(op)
    first = next(at for at, op in enumerate(kept) if op.name == "LOAD_FAST")
    return assemble(code, [*kept[:first], *null, *kept[first:]])


LISTS = (
    calling, RUNS, (LISTS_NOTE, VARIABLE_NOTE), "functions, values, a",
    (
        "mark = True", "call = functions[-1]", "del functions[-1]", "arguments = [functions, values, *values[-1]]",
        "del values[-1]", "del functions", "del values", "mark = False", "return call(*arguments) + a",
    ),
    ("return functions.pop()(functions, values, *values.pop()) + a",),
    [
        ("return functions.pop()(functions, values, *values[-1]) + a",),
        ("return functions[-1](functions, values, *values.pop()) + a",),
        ("return values.pop()(functions, values, *functions.pop()) + a",),
        ("return functions.pop()(values, functions, *values.pop()) + a",),
        ("return functions.pop(0)(functions, values, *values.pop()) + a",),
        ("return functions.pop()(functions, values, *values.pop(0)) + a",),
        ("return functions.pop()(functions, values, *values.pop(), *values.pop()) + a",),
        ("return functions.pop()(functions, values, values.pop()) + a",),
        ("return functions.pop()(functions, values) + a",),
        ("functions.pop()", "return functions.pop()(functions, values, *values.pop()) + a"),
    ],
)  # fmt: skip
CASES = {
    "a list": (
        half_filled, SHOWN, (CONTAINERS_NOTE,), "items, value, a", ("return [*items, value, *a]",), None,
        [
            ("return [value, *items, *a]",), ("return [*items, *a, value]",), ("return [*items, *items, value, *a]",),
            ("return [value, *a]",), ("return [items, value, *a]",), ("return [*items, value, a]",),
            ("return (*items, value, *a)",), ("return [*a, value, *items]",), ("return [*items, value, *a], items",),
            ("return [*items, value]",), ("return [*items, value, *items]",), ("items += [value, *a]", "return items"),
        ],
    ),
    "a dict": (
        half_filled, SHOWN, (CONTAINERS_NOTE,), "items, value, a", ("return {**items, 'k': value, **a}",), None,
        [
            ("return {'k': value, **items, **a}",), ("return {**items, **a, 'k': value}",), ("return {'k': value, **a}",),
            ("return {**items, 'j': value, **a}",), ("return {**items, 'k': a, **value}",), ("return {**items, **a}",),
        ],
    ),
    "a set": (
        half_filled, SHOWN, (CONTAINERS_NOTE,), "items, value, a", ("return {*items, value, *a}",), None,
        [("return {value, *items, *a}",), ("return {*a, value, *items}",), ("return {*items, value}",), ("return {value, *a}",)],
    ),
    "arguments": (
        half_filled, SHOWN, (CONTAINERS_NOTE,), "items, value, a", ("return value(*items, value, *a)",), None,
        [
            ("return value(value, *items, *a)",), ("return value(*items, *a)",), ("return value(items, value, *a)",),
            ("return value(*items, value, *a, *items)",), ("return value(*items, *a, value)",),
        ],
    ),
    "a string": (
        formatted, SHOWN, (STRINGS_NOTE,), "part, value", ("return f'{part} and {value!r:>4}'",), None,
        [
            ("return f'{value!r:>4} and {part}'",), ("return f'{part!r} and {value!r:>4}'",), ("return f' and {value!r:>4}'",),
            ("return f'{part}{part} and {value!r:>4}'",), ("return f'{part:>4} and {value!r:>4}'",),
            ("return f'{value} and {value!r:>4}'",), ("return f'{part} and {part!r:>4}'",), ("return f'{part} and '",),
        ],
    ),
    "a new variable": (
        half_assigned, SHOWN, (ASSIGNED_NOTE,), "old, value", ("new = old", "new += abs(value)", "return new"), None,
        [
            ("new = old", "new -= abs(value)", "return new"), ("new = value", "new += abs(value)", "return new"),
            ("new = old", "new = new + abs(value)", "return new"), ("new = abs(value)", "new += old", "return new"),
            ("new = old", "new += abs(new)", "return new"), ("new = old", "new += abs(value)", "return old"),
            ("new = old", "abs(value)", "new += abs(value)", "return new"), ("new = old", "new += value", "return new"),
        ],
    ),
    "the variable itself": (
        half_assigned, SHOWN, (ASSIGNED_NOTE,), "old, value", ("old += abs(value)", "return [old, -1]"), None,
        [
            ("old = old + abs(value)", "return [old, -1]"), ("old += abs(old)", "return [old, -1]"),
            ("old += abs(value)", "return [value, -1]"), ("value += abs(old)", "return [value, -1]"),
        ],
    ),
    "the values of a frame": (
        on_the_stack, SHOWN, (LISTS_NOTE,), "values",
        ("kept = values[0]", "values[0] = None", "second = values[1]", "values[1] = None", "del second", "return kept.real"),
        ("___stack0, second = values", "del second", "return ___stack0.real"),
        [
            ("second, ___stack0 = values", "del second", "return ___stack0.real"),
            ("___stack0, second, third = values", "del second", "return ___stack0.real"),
            ("___stack0, second = values", "return ___stack0.real"),
            ("___stack0, second = values", "del second", "return ___stack0.imag"),
            ("___stack0, second = values", "del second", "return values.real"),
            ("(___stack0,) = values", "return ___stack0.real"),
            ("second = values[1]", "del second", "return values[0].real"),
        ],
    ),
    **({"an inner frame": LISTS} if sys.version_info[:2] == (3, 11) else {}),
}  # fmt: skip
