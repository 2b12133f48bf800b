"""Runs the package on its recorded calls, and compares with the program's own code in eager mode."""

from __future__ import annotations

import argparse
import dataclasses
import runpy
from collections.abc import Callable, Iterator
from typing import Any

import torch

from depyf.actions.scripts.carried.comparing import agreement, magnitude
from depyf.actions.scripts.carried.running import cotangent


def check(package: Any, arguments: list[str] | None = None) -> int:
    """0 where everything agrees, 1 where something differs or fails, 3 where there was nothing to compare with."""
    parser = argparse.ArgumentParser(prog=f"python -m {package.name}", description=__doc__)
    parser.add_argument("--hooks", metavar="FILE", help="a Python file: its names are filled into hooks.py")
    options = parser.parse_args(arguments)
    filled = runpy.run_path(options.hooks) if options.hooks else {}
    vars(package.hooks).update({name: value for name, value in filled.items() if not name.startswith("__")})
    known = set(vars(package.hooks))
    results = [check_call(package, make, known) for make in package.calls.CALLS]
    compared = sum(result == "same" for result in results)
    wrong = sum(result == "wrong" for result in results)
    print(f"{len(results)} call{'' if len(results) == 1 else 's'}: {compared} as in eager mode, {wrong} not", end="")
    print(f", {len(results) - compared - wrong} not compared" if compared + wrong < len(results) else "")
    return 1 if wrong else 0 if compared == len(results) else 3


def check_call(package: Any, make: Callable[[], Any], known: set[str]) -> str:
    """One call, through the package and through the original: "same", "wrong" or "alone" (nothing to compare with)."""
    chosen: list[str] = []
    try:
        call, got = through_package(package, make, known, chosen)
    except package.runtime.MissingHook as error:
        print(f"hook  {make.__name__}: {error}")
        return "alone"
    except Exception as error:
        print(f"FAIL  {make.__name__}: {type(error).__name__}: {error}")
        return "wrong"
    made_up = ", made-up values: " + few(call.inputs.made_up) if call.inputs.made_up else ""
    fits = bool(chosen) and call.entry.endswith(f"_{chosen[0]}")
    told = f"{call.entry} ran{made_up}" if fits else f"like {call.entry}, but entry {chosen[0]} fits, too{made_up}"
    try:
        original = package.original.load(package.runtime.CLASSES)
        want = outcome(original, ready(package, make, known))
    except Exception as error:
        print(f"run   {told}; not compared with eager mode: {type(error).__name__}: {error}")
        return "alone"
    finally:
        package.runtime.CLASSES.clear()
    wrong = differences(want, got, package.tolerance)
    print(f"FAIL  {told}; it differs in {few(wrong)}" if wrong else f"ok    {told}; as in eager mode: {told_of(got)}")
    return "wrong" if wrong else "same"


def through_package(
    package: Any, make: Callable[[], Any], known: set[str], chosen: list[str]
) -> tuple[Any, dict[str, Any]]:
    """The call through the package: on shells of the program's objects, and where it asks them for code, on objects of
    the program's classes."""
    try:
        call = ready(package, make, known)
        return call, outcome(watched(package, chosen), call)
    except package.runtime.MissingHook as missing:
        chosen.clear()
        try:
            package.original.load(package.runtime.CLASSES)
            call = ready(package, make, known)
            return call, outcome(watched(package, chosen), call)
        except Exception:
            raise missing from None
        finally:
            package.runtime.CLASSES.clear()


def few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def told_of(got: dict[str, Any]) -> str:
    counts = {word: sum(name.startswith(word) for name in got) for word in ("result", "gradient", "changed")}
    named = {"result": "result", "gradient": "gradient", "changed": "argument"}
    return ", ".join(f"{count} {named[word]}{'' if count == 1 else 's'}" for word, count in counts.items() if count)


def ready(package: Any, make: Callable[[], Any], known: set[str]) -> Any:
    """The call, with the hooks that it fills in; those that a person filled in stay."""
    package.runtime.begin_again()
    call = make()
    for name, value in call.hooks.items():
        if name not in known:
            setattr(package.hooks, name, value)
    return call


def watched(package: Any, chosen: list[str]) -> Callable[..., Any]:
    """The function of the package; the first entry whose guards hold is added to ``chosen``."""

    def watching(name: str, guard: Callable[[Any], bool]) -> Callable[[Any], bool]:
        def ask(L: Any) -> bool:
            holds = guard(L)
            if holds:
                chosen.append(name.removeprefix("guards_"))
            return holds

        ask.__name__, ask.__wrapped__ = name, guard  # type: ignore[attr-defined]
        return ask

    for name, value in list(vars(package.guards).items()):
        if name.startswith("guards_"):
            setattr(package.guards, name, watching(name, getattr(value, "__wrapped__", value)))
    function: Callable[..., Any] = package.function
    return function


def outcome(function: Callable[..., Any], call: Any) -> dict[str, Any]:
    """Everything that a call gives: results, gradients, and what it changed in its arguments."""
    result = call.run(function)
    found = {f"result{path}": value for path, value in leaves(result, "")}
    wanted = [value for value in found.values() if isinstance(value, torch.Tensor) and value.requires_grad]
    if wanted:
        torch.autograd.backward(wanted, [cotangent(value, number) for number, value in enumerate(wanted)])
    inputs = list(leaves([*call.arguments, call.keywords], ""))
    for path, value in inputs:
        if isinstance(value, torch.Tensor):
            if value.is_leaf and value.grad is not None:
                found[f"gradient{path}"] = value.grad
        found[f"changed{path}"] = value
    return found


def leaves(value: Any, path: str, seen: frozenset[int] = frozenset()) -> Iterator[tuple[str, Any]]:
    """The tensors and plain values in a result or an argument, each with its path."""
    if isinstance(value, (torch.Tensor, int, float, str, bool, bytes, complex, type(None))):
        yield path, value
    elif id(value) in seen:
        return
    elif isinstance(value, torch.nn.Module):
        for name, tensor in [*value.named_parameters(), *value.named_buffers()]:
            yield f"{path}.{name}", tensor
        for name, inner in value.named_modules():
            for key, plain in vars(inner).items():
                if type(plain) in (int, float, str, bool) and not key.startswith("_"):
                    yield f"{path}.{name}.{key}", plain
    else:
        parts = {}
        if isinstance(value, dict):
            parts = {f"[{key!r}]": part for key, part in value.items()}
        elif isinstance(value, (list, tuple)):
            parts = {f"[{key}]": part for key, part in enumerate(value)}
        elif dataclasses.is_dataclass(value) or hasattr(value, "__dict__"):
            parts = {f".{key}": part for key, part in vars(value).items() if not callable(part)}
        for key, part in parts.items():
            yield from leaves(part, f"{path}{key}", seen | {id(value)})


def differences(want: dict[str, Any], got: dict[str, Any], tolerance: float) -> list[str]:
    """The paths at which two outcomes differ."""
    most = magnitude(want.values())
    both = {**want, **got}
    return [n for n in both if n not in want or n not in got or not agreement(want[n], got[n], tolerance, most)[0]]
