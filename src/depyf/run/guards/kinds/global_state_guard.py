"""torch's global state: grad mode, autocast, default dtype, determinism.

___check_global_state() against {...}  ->  check_global_state(autocast={}, default_dtype=torch.float32, grad_mode=True,
...)
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from depyf.run.advice.registry import use
from depyf.run.guards.difference import Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardKind,
    Look,
    PrintedGuard,
    UnknownValueError,
    Uses,
    keywords,
)
from depyf.run.places.place import Place

_PRINTED = re.compile(r"^___check_global_state\(\) against (?P<state>\{.*\})$", re.S)
_CHANGED = re.compile(r"^GLOBAL_STATE changed:?\s*(?P<what>[\w ,().]*?)\s*$")
_NAME = re.compile(r"\w+(?:\(\w+\))?(?:_\w+)?")
_GRAD = "the same torch.no_grad() / torch.enable_grad()"
_SETTINGS = (
    ("grad_mode", "grad mode", _GRAD),
    ("autocast", "autocast", "the same torch.autocast"),
    ("default_dtype", "default dtype", "the same torch.set_default_dtype"),
    ("deterministic", "deterministic algorithms", "the same torch.use_deterministic_algorithms"),
    ("num_threads", "number of threads", "the same torch.set_num_threads"),
    ("torch_function", "torch functions", "the same setting of torch functions"),
)
"""A part of torch's global state, what it is called, and what sets it."""
_DTYPES = {0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
           8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16"}  # fmt: skip
"""c10's ScalarType."""
_FIRST, _LAST = ("cpu", "cuda", "mtia", "maia"), ("xpu", "ipu", "hpu", "xla", "privateuseone", "mps")
"""The devices that know autocast, in torch's order; maia came later."""


class GlobalStateGuard(GuardKind):
    name = "global state"
    checks = ("check_global_state",)
    asking = frozenset(checks)
    says_all = frozenset(checks)

    def printed(self, guard: PrintedGuard) -> Iterable[str]:
        if guard.text == "___check_global_state()":  # torch before 2.8 does not say what it was
            return ["check_global_state()"]
        match = _PRINTED.match(guard.text)
        try:
            state = json.loads(match["state"]) if match is not None else None
        except ValueError:
            return []
        if not isinstance(state, dict):
            return []
        return ["check_global_state(" + ", ".join(f"{name}={value}" for name, value in in_words(state).items()) + ")"]

    def with_handle(self, check: str, operands: list[str], handle: str) -> list[str]:
        return [handle, *operands]

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        wanted = {name: ast.unparse(node) for name, node in keywords(tree).items()}
        try:
            found = in_words(look.ask("global_state"))
        except UnknownValueError:
            found = {}
        wrong = [name for name in wanted if name in found and wanted[name] != found[name]]
        if not wrong:
            sides = ("", "as compiled") if holds else ("torch's state of when it was compiled", "another state")
            return (Difference(self.name, wanted=GuardSide(sides[0]), found=GuardSide(sides[1])),)
        return tuple(
            Difference(self.name, "", name, None, "==", GuardSide(wanted[name]), GuardSide(found[name]))
            for name in wrong
        )

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        return Difference(self.name, wanted=GuardSide("torch's state of when it was compiled"), found=found)

    def surroundings(self, tree: ast.expr) -> list[str]:
        told = {name: ast.unparse(node) for name, node in keywords(tree).items()}
        found = ["grad=False"] if told.get("grad_mode") == "False" else []
        return found + ([f"autocast={told['autocast']}"] if told.get("autocast", "{}") != "{}" else [])

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        match = _CHANGED.match(text)
        if match is None:
            return None
        names = _NAME.findall(match["what"]) or [""]
        return tuple(Difference(self.name, "", _part(name), None, "==") for name in dict.fromkeys(map(_part, names)))

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        """How the failed guard is shown: torch's field names are replaced by the names of the settings."""
        if _CHANGED.match(text) is None:
            return text
        said = ", ".join(dict.fromkeys(name for d in differences if (name := called_so(d.what))))
        return f"torch's global state: {said}" if said else "torch's global state"

    def differing(self, difference: Difference) -> str:
        return ""

    def subject(self, difference: Difference) -> str:
        return "torch's global state changed"

    def stated(self, difference: Difference) -> tuple[str, str]:
        if not difference.what:
            return difference.wanted.text, difference.found.text
        return f"{difference.what}={difference.wanted.text}", f"{difference.what}={difference.found.text}"

    def about(self, difference: Difference, shown: Callable[[str], str]) -> str:
        said = called_so(difference.what)
        return f"torch's {said}" if said else "torch's global state"

    def aspect(self, difference: Difference) -> str:
        return ""

    def told(self, differences: tuple[Difference, ...], placed: bool, shown: Callable[[str], str]) -> str:
        return f"not every call is made under {_together(_settings(differences))}"

    def advise(self, differences: tuple[Difference, ...], place: Place | None) -> Uses:
        settings = _settings(differences)
        if settings == [_GRAD]:
            return (use("with-and-without-gradients"),)
        return (use("one-global-state", settings=_together(settings)),)


def called_so(name: str) -> str:
    """The name of a setting in torch's global state, for a reader."""
    return next((said for part, said, _ in _SETTINGS if name.startswith(part)), name.replace("_", " "))


def _settings(differences: Iterable[Difference]) -> list[str]:
    """What sets the parts of torch's global state that differ."""
    names = [difference.what for difference in differences]
    return [setting for part, _, setting in _SETTINGS if any(name.startswith(part) for name in names)]


def _together(settings: list[str]) -> str:
    return " and ".join(settings) or "the same grad mode, autocast and default dtype"


def _part(name: str) -> str:
    """torch's ``autocast(cpu)_enabled`` is of ``autocast``."""
    return name.partition("(")[0]


def in_words(state: Mapping[str, Any]) -> dict[str, str]:
    """torch's state as Python literals: name -> its value, in the order of the names.

    Data types are numbers there, and autocast is two lists over devices.  The guard ignores the data type of a device
    on which autocast is off, and so does this.
    """
    found: dict[str, str] = {}
    for name, value in state.items():
        if name == "default_dtype":
            found[name] = _dtype(value)
        elif name == "autocast_state" and (autocast := _autocast(value)):
            found |= autocast
        else:
            found[name] = repr(value)
    return dict(sorted(found.items()))


def _dtype(number: Any) -> str:
    return f"torch.{_DTYPES[number]}" if number in _DTYPES else repr(number)


def _autocast(state: Any) -> dict[str, str]:
    """{} where this torch writes it down otherwise."""
    try:
        enabled, dtypes, cached = list(state["enabled"]), list(state["dtype"]), state["cached_enabled"]
    except (KeyError, TypeError):
        return {}
    devices = (*_FIRST[: len(enabled) - len(_LAST)], *_LAST)
    if not len(devices) == len(enabled) == len(dtypes):
        return {}
    on = [f"{device!r}: {_dtype(dtype)}" for device, dtype, is_on in zip(devices, dtypes, enabled) if is_on]
    return {"autocast": f"{{{', '.join(on)}}}", "autocast_cache": repr(bool(cached))}


KIND = GlobalStateGuard()
