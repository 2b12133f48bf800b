"""Functions cut in two at random calls, as Dynamo cuts them at graph breaks, and their second halves decompiled (``make cutfuzz``).

    python -m tools.fuzz.cutfuzz MODULE ... [--count 500] [--cuts 2] [--seed 0] [--show]

torch's own ``ContinueExecutionCache.generate`` makes the resume functions; what it does not cut is counted apart.  A half
passes when its text is proven and has no temporaries.  Needs torch.
"""

from __future__ import annotations

import argparse
import dis
import importlib
import inspect
import random
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch._dynamo.resume_execution import ContinueExecutionCache

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED, CodeUnit
from depyf.decompiler.bytecode.edits.origins import origins
from depyf.decompiler.bytecode.host.handler_depths import with_one_depth
from depyf.decompiler.bytecode.lower import Lowered, lower
from depyf.decompiler.driver.pipeline import decompile_code
from depyf.errors import DepyfError
from depyf.sources.live.generated import resume_options

NEVER_CUT = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def functions(code: types.CodeType) -> Iterator[types.CodeType]:
    if code.co_flags & CO_OPTIMIZED and not code.co_flags & NEVER_CUT and not code.co_name.startswith("<"):
        yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from functions(const)


def second_half(code: types.CodeType, lowered: Lowered, call: int) -> types.CodeType:
    """What torch resumes after the call that is instruction ``call``."""
    instrs = lowered.instrs
    stack = [all(at >= 0 and instrs[at].op == ops.NULL for at in slot) for slot in origins(lowered)[call + 1]]
    offset = lowered.instrs[call].offset
    offsets = [instr.offset for instr in dis.get_instructions(code)]
    given: dict[str, Any] = {
        "code": code,
        "lineno": lowered.instrs[call].line or code.co_firstlineno,
        "init_offset": offset,
        "resume_offset": offsets[offsets.index(offset) + 1],
        "offset": offsets[offsets.index(offset) + 1],
        "nstack": stack.count(False),
        "argnames": tuple(name for name in code.co_varnames if name not in code.co_cellvars),
        "handle_inactive_ctx": False,
        "pop_nested_resume_result": False,
        "null_idxes": tuple(index for index, empty in enumerate(stack) if empty),
    }
    wanted = inspect.signature(ContinueExecutionCache.generate).parameters
    made = ContinueExecutionCache.generate(**{name: given.get(name, ()) for name in wanted})
    assert isinstance(made, types.CodeType)
    return made


def outcome(code: types.CodeType) -> tuple[str, str]:
    """How the decompilation of a resume function ended, and its text."""
    try:
        found = decompile_code(with_one_depth(code), options=resume_options())
    except DepyfError as error:
        return "refused", str(error)
    if not found.proven:
        return "not proven", found.source
    return ("temporaries" if "__temp_" in found.source else "passed"), found.source


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", metavar="MODULE")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--cuts", type=int, default=2, help="how often a function is cut, each time alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print every half that does not pass")
    args = parser.parse_args()
    chance = random.Random(args.seed)
    pool: list[types.CodeType] = []
    for name in args.modules:
        path = importlib.import_module(name).__file__
        assert path is not None, name
        pool += functions(compile(Path(path).read_text(encoding="utf-8"), path, "exec"))
    chance.shuffle(pool)
    ends: Counter[str] = Counter()
    for code in pool:
        lowered = lower(CodeUnit.from_code(code))
        calls = [at for at, i in enumerate(lowered.instrs) if i.op == ops.CALL and i.handler < 0]
        for call in chance.sample(calls, min(args.cuts, len(calls))):
            if ends.total() >= args.count:
                break
            try:
                half = second_half(code, lowered, call)
            except (AssertionError, StopIteration):  # torch's
                ends["not cut by torch"] += 1
                continue
            end, text = outcome(half)
            ends[end] += 1
            if end != "passed":
                print(f"{end}: {code.co_filename}:{lowered.instrs[call].line} in {code.co_name}", flush=True)
                if args.show or end == "refused":
                    print(text)
    for end, count in ends.most_common():
        print(f"{count:7}  {end}")
    return 1 if ends["not proven"] + ends["refused"] + ends["temporaries"] else 0


if __name__ == "__main__":
    sys.exit(main())
