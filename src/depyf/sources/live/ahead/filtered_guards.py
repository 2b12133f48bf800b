"""The guards of a compilation that torch leaves out: a filter says so (``guard_filter_fn``), the program's or torch's.

Input: the stack of the thread, while torch reports guards.  There are all guards of the compilation, and those that the
filter kept, as torch's objects: what is in the first and not in the second is left out.  Output: a record for each,
read as the guards are that torch prints.  torch builds all guards before it asks the filter, and a guard that was built
knows its text; those of tensors and of torch's state do not, and theirs is made here as torch makes it.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from depyf.run.advice.source_names import without_mapping
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord
from depyf.safety.guarded import Door
from depyf.sources.live.guards.printed_guards import guard_record
from depyf.sources.live.pure_access import attribute, is_a, short_name, untouched
from depyf.sources.live.target import free_variables

_GUARDS = "/torch/_dynamo/guards.py"
_AHEAD = "/torch/_dynamo/aot_compile.py"
_FILTERS = "/torch/compiler/__init__.py"
_DEEPEST = 50
_NOT_STORED = "aot_compile stores no guard on globals"
_BY_IDENTITY = "aot_compile stores no guard that asks for one object"
_CACHED = "caching_precompile stores no guard that asks for one object"
_PRECOMPILE = "/torch/_dynamo/precompile_package.py"
_CAPTURED = "precompile stores no guard that asks for one object"
_ONE_OBJECT = ("ID_MATCH", "CLOSURE_MATCH", "WEAKREF_ALIVE", "DICT_VERSION")
_LEFT_OUT: weakref.WeakKeyDictionary[Any, tuple[GuardRecord, ...]] = weakref.WeakKeyDictionary()
"""torch's guards of an entry -> what was left out of them, as long as a recording heard it and they live."""
_CAPTURES: weakref.WeakSet[Any] = weakref.WeakSet()
"""torch's guards of entries that a capture of ``torch.compiler.precompile`` stores."""


def left_out_guards(note: Callable[[str], None]) -> tuple[tuple[GuardRecord, ...], bool]:
    """The guards that a filter left out, and whether a capture of ``torch.compiler.precompile`` stores the rest; called
    while torch reports guards.  ``note`` gets a line where they cannot be read."""
    with Door("which guards were left out could not be told", note):
        known = building_guards()
        session, manager = _session(known.get("guard_filter_fn")), attribute(known.get("self"), "guard_manager")
        if session is not None and manager is not None:
            _CAPTURES.add(manager)
        return _of_builder(known, session), session is not None
    return (), False


def building_guards() -> Mapping[str, Any]:
    """The variables of torch's function that builds guards, while it runs; {} otherwise."""
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEEPEST):
        if frame is None:
            break
        if frame.f_code.co_name == "__init__" and _is_in(frame.f_code, _GUARDS):
            return frame.f_locals
        frame = frame.f_back
    return {}


def left_out_of(manager: Any) -> tuple[GuardRecord, ...]:
    """The guards that a filter left out of the entry with this guard manager; () where no recording noted them."""
    try:
        return _LEFT_OUT.get(manager, ())
    except TypeError:  # no object that a weak reference can have
        return ()


def is_captured(manager: Any) -> bool:
    """Whether a capture stores the entry with this guard manager; False where no recording noted it."""
    try:
        return manager in _CAPTURES
    except TypeError:
        return False


def _of_builder(known: Mapping[str, Any], session: Any) -> tuple[GuardRecord, ...]:
    keep, kept = known.get("guard_filter_fn"), known.get("sorted_guards")
    every = known.get("guards")
    if keep is None or type(kept) is not list or every is None:
        return ()
    asked = {id(guard) for guard in kept}
    dropped = sorted((guard for guard in every if id(guard) not in asked), key=lambda guard: guard.sort_key())
    found: dict[tuple[str, str], GuardRecord] = {}
    risky = _risky(session)
    for guard in dropped:
        by, place = _who(keep, guard), _place(guard)
        kind_of, name = guard.create_fn_name(), _stripped(guard.name)
        for kind, text in _texts(guard, known):
            record = replace(guard_record(kind, text, guard.name, place, by), risky=(kind_of, name) in risky)
            found.setdefault((record.expression, record.source), record)
    records = tuple(found.values())
    manager = attribute(known.get("self"), "guard_manager")
    if records and manager is not None:
        _LEFT_OUT[manager] = records
    return records


def _session(keep: Any) -> Any:
    """precompile's session that filters with ``keep``; None for another filter."""
    return next((one for one in _closed_over(keep) if short_name(type(one)) == "PrecompileSession"), None)


def _risky(session: Any) -> frozenset[tuple[str, str]]:
    """Kind and source of the guards that precompile's session calls risky, so far: on what the program chooses, and
    those that wanted another value in another variant of the function."""
    chosen, variants = attribute(session, "_risky_dropped_guards"), attribute(session, "_guard_sets")
    found = set(chosen) if isinstance(chosen, (set, frozenset)) else set()
    for facts in variants.values() if type(variants) is dict else ():
        wanted: dict[tuple[str, str], set[str]] = {}
        for fact in (one for variant in facts for one in variant if not one.enforced):
            wanted.setdefault((fact.guard_type, fact.source), set()).add(fact.value)
        found.update(slot for slot, values in wanted.items() if len(values) > 1)
    return frozenset(found)


def _stripped(name: str) -> str:
    """A source as precompile's summary writes it: ``L['x'].a`` is ``x.a``."""
    return without_mapping(name)


def _texts(guard: Any, known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The kind and the text of each guard that torch would have made."""
    kind, name = guard.create_fn_name(), guard.name
    listed = [text for text in guard.code_list or () if type(text) is str]
    if kind == "TENSOR_MATCH":
        text = _tensor_text(guard, known.get("output_graph"))
        if text:
            yield kind, text
    elif kind == "CLOSURE_MATCH" and not listed:
        yield "ID_MATCH", f"___check_obj_id({name}.__code__, 1000000), type=<class 'code'>"
    elif kind == "GLOBAL_STATE":
        state = attribute(known.get("output_graph"), "global_state_guard")
        if state is not None:
            yield kind, f"___check_global_state() against {state.__getstate__()}"
    elif kind == "NOT_PRESENT_IN_GENERIC_DICT":
        told = attribute(guard, "create_fn")
        given = told.keywords if is_a(told, functools.partial) else {}
        if "attr" in given:
            yield "DICT_CONTAINS", f"not ___dict_contains({given['attr']!r}, {name}.__dict__)"
    else:
        kinds = guard.guard_types or ()
        kinds = kinds if len(kinds) == len(listed) else [kind] * len(listed)
        for own, text in zip(kinds, listed):
            yield _by_value(own, text), text


def _by_value(kind: str, text: str) -> str:
    """A guard on a flag is one of two kinds when it is built."""
    return f"{text.rpartition(' ')[2].upper()}_MATCH" if kind == "BOOL_MATCH" else kind


def _tensor_text(guard: Any, graph: Any) -> str:
    """The guard on a tensor as torch prints it; "" where the tensor is gone."""
    from torch._dynamo import guards

    reference = guard.obj_weakref
    value = reference() if is_a(reference, weakref.ref) else None
    measured = (attribute(graph, "input_source_to_sizes_strides") or {}).get(guard.originating_source)
    if value is None or measured is None:
        return ""
    import torch

    with untouched():
        sizes, strides = (
            list(map(guards.convert_int_to_concrete_values, measured[name])) for name in ("size", "stride")
        )
        kind = attribute(value, "pytype") if is_a(value, torch._subclasses.FakeTensor) else None
        keys = torch._C._dispatch_keys(value)
        text: str = guards.get_tensor_guard_code_part(value, guard.name, sizes, strides, kind or type(value), keys)
    return text


def _place(guard: Any) -> Place | None:
    stack = list(guard.user_stack or ())
    if not stack:
        return None
    last = stack[-1]
    return Place(str(last.filename), int(last.lineno or 0), str(last.name), str(last.line or "").strip())


def _who(keep: Any, guard: Any) -> str:
    """Who left it out, in words."""
    code = attribute(keep, "__code__")
    if not is_a(code, types.CodeType):
        return f"guard_filter_fn ({type(keep).__name__})"
    if _is_in(code, _AHEAD):
        return _NOT_STORED if guard.name.startswith("G[") else _BY_IDENTITY
    if _is_in(code, _GUARDS):  # caching_precompile's, which asks another one first
        kinds = (guard.create_fn_name(), *(guard.guard_types or ()))
        own = next((cell.cell_contents for cell in keep.__closure__ or () if callable(cell.cell_contents)), None)
        inner = attribute(own, "__code__")
        default = is_a(inner, types.CodeType) and _is_in(inner, _GUARDS)
        return _CACHED if own is None or default or any(one in _ONE_OBJECT for one in kinds) else _who(own, guard)
    if _is_in(code, _PRECOMPILE):  # the session's, which asks the program's or torch's
        inner = next((one for one in _closed_over(keep) if is_a(one, types.FunctionType)), None)
        own = attribute(inner, "__code__")
        return _who(inner, guard) if own is not None and not _is_in(own, _PRECOMPILE) else _CAPTURED
    return filter_words(keep)


def filter_words(keep: Any) -> str:
    """The name of a guard filter, for a reader."""
    code = attribute(keep, "__code__")
    if not is_a(code, types.CodeType):
        return f"guard_filter_fn ({type(keep).__name__})"
    if _is_in(code, _FILTERS):
        return f"torch.compiler.{code.co_name}"
    return f"guard_filter_fn {code.co_name} ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"


def filter_of(compiled: Any) -> Any:
    """``guard_filter_fn`` of what torch.compile returned; None where there is none."""
    context = attribute(compiled, "dynamo_ctx")
    if context is None and type(compiled) is types.FunctionType:
        context = free_variables(compiled).get("self")
    return attribute(attribute(attribute(context, "callback"), "hooks"), "guard_filter_fn")


def _closed_over(function: Any) -> list[Any]:
    return [cell.cell_contents for cell in attribute(function, "__closure__") or ()]


def _is_in(code: types.CodeType, file: str) -> bool:
    return code.co_filename.replace("\\", "/").endswith(file)
