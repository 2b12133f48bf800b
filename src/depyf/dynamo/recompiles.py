"""Why an entry that was there did not fit: torch's recompile reasons -> records.

Input: the payload of ``recompile_reasons`` and the locals of the call, of which only values without code of their own
are read.  Output: one record per earlier entry, with the guard that failed, expected and actual value, and what to
change so that it would not.
"""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Callable
from typing import Any

from depyf.dynamo.guards import split_comment, without_addresses
from depyf.dynamo.records import RecompileRecord

_ENTRY = re.compile(r"^(?P<entry>!?\d[\d/!]*): (?P<rest>.*)$", re.S)
_MISMATCH = re.compile(
    r"^tensor '(?P<name>.*?)' (?P<what>[\w ]+?) mismatch(?: at index (?P<index>\d+))?\. "
    r"expected (?:\w+=)?(?P<expected>.*?)(?:, actual (?P<actual>.*))?$"
)
_EQUAL = re.compile(r"^(?P<source>[^=<>!]+?) (?:==|is) (?P<expected>.+)$")
_REPORTER = "get_and_maybe_log_recompilation_reasons"
_DEPTH = 16

Locals = dict[str, Any]


def parse_recompile(
    payload: str, call_locals: Locals | None = None, resolve: Callable[[str], str] = lambda name: name
) -> tuple[RecompileRecord, ...]:
    """One record per earlier entry that torch tried, the newest first."""
    try:
        found = json.loads(payload)
        reasons = [str(reason) for reason in found] if isinstance(found, list) else [str(found)]
    except ValueError:
        reasons = [payload]
    return tuple(_record(reason, call_locals or {}, resolve) for reason in reasons if reason.strip())


def _record(reason: str, call_locals: Locals, resolve: Callable[[str], str]) -> RecompileRecord:
    match = _ENTRY.match(reason.strip())
    entry, rest = (match["entry"], match["rest"]) if match else ("", reason.strip())
    rest = rest.partition("\nUser stack trace:")[0]
    guard, place, _ = split_comment(rest, resolve)
    guard = without_addresses(guard.strip())
    mismatch = _MISMATCH.match(guard)
    if mismatch:
        expected, actual = mismatch["expected"], mismatch["actual"] or ""
        if mismatch["what"] == "requires_grad":
            expected, actual = ("False", "True") if expected == "0" else ("True", "False")
        advice = _tensor_advice(mismatch["name"], mismatch["what"], mismatch["index"])
        return RecompileRecord(entry, guard, place, expected, actual, advice)
    equal = _EQUAL.match(guard)
    if equal:
        actual = shown_value(equal["source"], call_locals)
        return RecompileRecord(
            entry, guard, place, equal["expected"], actual, _value_advice(equal["source"], equal["expected"])
        )
    return RecompileRecord(entry, guard, place, "", "", _other_advice(guard))


def _tensor_advice(name: str, what: str, index: str | None) -> str:
    if what == "size" and index is not None:
        return f"torch._dynamo.mark_dynamic({name}, {index}) before the call, or torch.compile(dynamic=True)"
    if what == "stride":
        return f"pass {name}.contiguous(), or tensors of one memory layout"
    if what == "rank":
        return f"give {name} the same number of dimensions in every call (one entry per rank is needed)"
    if what == "dtype":
        return f"give {name} the same dtype in every call (one entry per dtype is needed)"
    if what == "requires_grad":
        return f"give {name} the same requires_grad in every call (forward only and training are compiled apart)"
    return f"give {name} the same {what} in every call"


def _value_advice(source: str, expected: str) -> str:
    source = source.strip()
    if re.fullmatch(r"-?\d+", expected):
        return f"make {source} a tensor, or leave torch._dynamo.config.automatic_dynamic_shapes on (it makes a second int dynamic)"
    if re.fullmatch(r"-?[\d.]+(?:e-?\d+)?|inf|nan", expected):
        return f"make {source} a tensor (torch.tensor(...)): a Python float is compiled in"
    if expected in ("None", "True", "False"):
        return f"one entry per value of {source} is needed; keep it the same where the speed matters"
    return f"keep {source} the same between calls, or move what depends on it out of the compiled function"


def _other_advice(guard: str) -> str:
    if "BACKEND_MATCH" in guard:
        return "compile with one and the same backend object"
    if "Duplicate tensor" in guard or "no_tensor_aliasing" in guard.lower():
        return "pass distinct tensors, or the same one twice, but not now this and now that"
    if guard.startswith("GLOBAL_STATE") or "global_state" in guard:
        return "call it under the same grad mode, autocast and default dtype"
    if "type_id" in guard:
        return "pass an object of the same type"
    if "obj_id" in guard:
        return "pass the same object"
    if "len(" in guard:
        return "keep the length the same between calls"
    return ""


def call_locals() -> Locals:
    """The locals of the call that is about to be compiled again; asked while torch reports the reasons, else {}."""
    frame = sys._getframe(1)
    for _ in range(_DEPTH):
        if frame.f_code.co_name == _REPORTER:
            called = frame.f_locals.get("frame")
            found = getattr(called, "f_locals", None)
            return dict(found) if isinstance(found, dict) else {}
        if frame.f_back is None:
            break
        frame = frame.f_back
    return {}


_SIMPLE = (int, float, bool, str, bytes, type(None))


def shown_value(source: str, scope: Locals) -> str:
    """The value of ``L['n']``, ``n`` or ``n[0]`` in ``scope`` as text; "" where reading it could run the user's code."""
    match = re.match(r"^(?:L\[(?P<quote>['\"])(?P<name>\w+)(?P=quote)\]|(?P<plain>\w+))(?P<rest>.*)$", source.strip())
    if match is None:
        return ""
    name = match["name"] or match["plain"]
    if name not in scope:
        return ""
    value = scope[name]
    rest = match["rest"]
    while rest:
        step = re.match(r"^\[(?P<key>-?\d+|'[^']*')\]|^\.(?P<attr>\w+)", rest)
        if step is None:
            return ""
        rest = rest[step.end() :]
        try:
            if step["key"] is not None:
                key: Any = step["key"][1:-1] if step["key"][0] == "'" else int(step["key"])
                if type(value) not in (list, tuple, dict):
                    return ""
                value = value[key]
            else:
                value = types.MappingProxyType(object.__getattribute__(value, "__dict__"))[step["attr"]]
        except (AttributeError, LookupError, TypeError):
            return ""
    if type(value) in _SIMPLE:
        text = repr(value)
        return text if len(text) <= 80 else text[:77] + "..."
    return f"a {type(value).__name__}"
