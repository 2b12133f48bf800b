"""Where ``listing`` says something else of an argument than ``dis`` of the running interpreter: run on each host."""

import dis
import importlib
import sys
import types
from collections.abc import Iterator

SUBJECTS = ("argparse", "asyncio.base_events", "ast", "collections", "contextlib", "dataclasses", "inspect", "typing")
_JUMPS = {*dis.hasjrel, *dis.hasjabs}


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def meaning(instruction: dis.Instruction) -> str:
    """Jumps by offset: since 3.13, ``dis`` gives labels that it numbers itself."""
    if instruction.opname == "END_ASYNC_FOR":
        return ""
    return f"to {instruction.argval}" if instruction.opcode in _JUMPS else instruction.argrepr


def disagreements(module: str) -> Iterator[tuple[str, str]]:
    """Lines of the listing with what they ought to end with."""
    from depyf.decompiler.bytecode.host.listing import listing

    path = importlib.import_module(module).__file__ or ""
    with open(path, encoding="utf-8") as file:
        top = compile(file.read(), path, "exec")
    for code in codes(top):
        lines = [line for line in listing(code).split("ExceptionTable:")[0].split("\n") if line]
        expected = list(dis.get_instructions(code))
        if len(lines) != len(expected):
            yield f"{code.co_name}: {len(lines)} lines", f"{len(expected)}"
        for line, instruction in zip(lines, expected):
            shown = meaning(instruction)
            words = " ".join(line.replace("     >>", "", 1).split())
            if not shown:  # older ones have no words for ``is not``, ``not in`` and the names of keywords
                words = words.partition(" (")[0]
            argument = "" if instruction.arg is None else f" {instruction.arg}"
            wanted = f"{instruction.offset} {instruction.opname}{argument}{shown and f' ({shown})'}"
            if not words.endswith(" ".join(wanted.split())):
                yield line, wanted


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    found = [pair for module in SUBJECTS for pair in disagreements(module)]
    print(*found[:20], sep="\n")
    sys.exit(bool(found))
