"""Code objects as listings: what a regression test keeps of a random program, whatever becomes of its generator.

    python -m tools.cases.kept KIND SEED [KIND SEED ...]   store programs of ``fuzz.py`` in ``tests/regressions/``, by this interpreter

A listing is JSON: the attributes of the code object, one string for each instruction and each line of the exception table.
Constants are written as Python does, code objects among them as listings.  It is read by the version that it was written by.
"""

from __future__ import annotations

import ast
import dis
import json
import sys
import types
from pathlib import Path
from typing import Any

from depyf.decompiler.bytecode.exception_table import table_entries
from depyf.decompiler.bytecode.host.assemble import table_of
from tools import ROOT

FOLDER = ROOT / "tests" / "regressions"
TEXTS = ("name", "qualname")
NUMBERS = ("argcount", "posonlyargcount", "kwonlyargcount", "stacksize", "flags", "firstlineno")
NAMES = ("names", "varnames", "freevars", "cellvars")


def listing(code: types.CodeType) -> dict[str, Any]:
    """``code`` as JSON; ``code_of`` gives it back."""
    found: dict[str, Any] = {name: getattr(code, "co_" + name) for name in TEXTS + NUMBERS}
    found |= {name: list(getattr(code, "co_" + name)) for name in NAMES}
    found["consts"] = [_constant(value) for value in code.co_consts]
    found["code"] = _instructions(code.co_code)
    found["exceptiontable"] = [
        f"{start} to {end}: {target}, depth {depth}{', lasti' * lasti}"
        for start, end, target, depth, lasti in table_entries(code.co_exceptiontable)
    ]
    found["linetable"] = code.co_linetable.hex()
    back = code_of(found)
    if back != code or back.co_linetable != code.co_linetable or back.co_exceptiontable != code.co_exceptiontable:
        raise ValueError(f"{code.co_name} has no listing")
    return found


def code_of(found: dict[str, Any]) -> types.CodeType:
    """The code object of a listing."""
    raw = bytearray()
    for line in found["code"]:
        name, argument, *caches = line.split(" ")
        raw += bytes((dis.opmap[name] if name in dis.opmap else int(name.strip("<>")), int(argument)))
        raw += bytes(2 * int(caches[0])) if caches else b""
    entries = []
    for line in found["exceptiontable"]:
        places, _, rest = line.partition(": ")
        start, _, end = places.partition(" to ")
        target, depth, *lasti = rest.split(", ")
        entries.append((int(start), int(end), int(target), int(depth.removeprefix("depth ")), bool(lasti)))
    template = compile("", "kept", "exec")
    return template.replace(
        **{"co_" + name: found[name] for name in TEXTS + NUMBERS},
        **{"co_" + name: tuple(found[name]) for name in NAMES},
        co_nlocals=len(found["varnames"]),
        co_filename="kept",
        co_consts=tuple(_value(text) for text in found["consts"]),
        co_code=bytes(raw),
        co_exceptiontable=table_of(entries),
        co_linetable=bytes.fromhex(found["linetable"]),
    )


def _instructions(raw: bytes) -> list[str]:
    """One line each, ``CALL 2 +3`` where three empty caches follow."""
    lines: list[str] = []
    at = 0
    while at < len(raw):
        end = at + 2
        while raw[end : end + 2] == b"\0\0":
            end += 2
        empty = (end - at) // 2 - 1
        lines.append(f"{dis.opname[raw[at]]} {raw[at + 1]}" + f" +{empty}" * bool(empty))
        at = end
    return lines


def _constant(value: object) -> object:
    if isinstance(value, types.CodeType):
        return listing(value)
    text = f"frozenset({sorted(value, key=repr)!r})" if isinstance(value, frozenset) else repr(value)
    if _value(text) != value:
        raise ValueError(f"no text for the constant {text}")
    return text


def _value(text: Any) -> object:
    if isinstance(text, dict):
        return code_of(text)
    if text == "Ellipsis":
        return ...
    if text.startswith("frozenset("):
        return frozenset(ast.literal_eval(text.removeprefix("frozenset(").removesuffix(")")))
    return ast.literal_eval(text)


def kept(version: tuple[int, int]) -> list[Path]:
    """The listings of one version."""
    return sorted((FOLDER / f"{version[0]}.{version[1]}").glob("*.json"))


def read(path: Path) -> types.CodeType:
    return code_of(json.loads(path.read_text(encoding="utf-8")))


def main() -> None:
    from tools.fuzz import fuzz

    if len(sys.argv) < 3 or len(sys.argv) % 2 == 0:
        raise SystemExit(__doc__)
    folder = FOLDER / f"{sys.version_info[0]}.{sys.version_info[1]}"
    folder.mkdir(parents=True, exist_ok=True)
    for kind, seed in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        text = json.dumps(listing(fuzz.KINDS[kind](int(seed))), indent=0)
        (folder / f"{kind}_{seed}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
