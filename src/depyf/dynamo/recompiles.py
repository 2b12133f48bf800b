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

from depyf.dynamo import advice
from depyf.dynamo.guards import readable, split_comment, without_addresses
from depyf.dynamo.records import RecompileRecord

_ENTRY = re.compile(r"^(?P<entry>!?\d[\d/!]*): (?P<rest>.*)$", re.S)
_MISMATCH = re.compile(
    r"^tensor '(?P<name>.*?)' (?P<what>[\w ]+?) mismatch(?: at index (?P<index>\d+))?\. "
    r"expected (?:\w+=)?(?P<expected>.*?)(?:, actual (?P<actual>.*))?$"
)
_EQUAL = re.compile(r"^(?P<source>[^=<>!]+?) (?:==|is) (?P<expected>.+)$")
_REPORTERS = ("get_and_maybe_log_recompilation_reasons", "get_and_maybe_log_recompilation_reason")
"""The function of torch that reports; without the s before torch 2.7."""
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
    shown = readable("", guard.strip())
    guard = without_addresses(guard.strip()) if shown.startswith("torch_checks(") else shown
    mismatch = _MISMATCH.match(guard)
    if mismatch:
        expected, actual = mismatch["expected"], mismatch["actual"] or ""
        if mismatch["what"] == "requires_grad":
            expected, actual = ("False", "True") if expected == "0" else ("True", "False")
        remedy = advice.for_tensor(mismatch["name"], mismatch["what"], mismatch["index"] or "")
        return RecompileRecord(entry, guard, place, expected, actual, remedy)
    equal = _EQUAL.match(guard)
    if equal:
        actual = shown_value(equal["source"], call_locals)
        return RecompileRecord(
            entry, guard, place, equal["expected"], actual, advice.for_value(equal["source"].strip(), equal["expected"])
        )
    return RecompileRecord(entry, guard, place, "", "", advice.for_kind(guard))


def call_locals() -> Locals:
    """The locals of the call that is about to be compiled again; asked while torch reports the reasons, else {}."""
    frame = sys._getframe(1)
    for _ in range(_DEPTH):
        if frame.f_code.co_name in _REPORTERS:
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
