"""Recognises code that Dynamo wrote, and how to decompile it: for ``depyf.decompile`` in a hook of another tool.

Input: any code object.  Output: options, or None for the code of a compiler.  Dynamo's code is known by the globals
that it invents, by torch's own tables, or, while torch compiles, by the code that it has just been given.  Torch is
asked only where the program has imported it, and nothing in it changes.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterable
from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.host.handler_depths import with_one_depth
from depyf.decompiler.options import Options
from depyf.run.global_names import COMPILED_FN, RESUME_FN, RESUME_PREFIX, without_changing_parts
from depyf.sources.live.caches.seen_code import codes_seen
from depyf.sources.live.generated import generated_options, resume_options, saved_options

_INVENTED = re.compile(
    rf"{COMPILED_FN.pattern}|{RESUME_FN.pattern}|^__nested_resume_at_\d+|^__import_torch_dot__dynamo_dot_|^__builtins_dict__\d+"
)
_ADDED = re.compile(r"^(tmp|graph_out|random_values)_\d+$")
"""What ``OutputGraph.new_var`` calls variables."""


def as_dynamo_wrote(code: types.CodeType) -> tuple[types.CodeType, Options] | None:
    """The code to decompile and the options for it, where Dynamo wrote ``code``; None where that is not known."""
    original = _made_of(code)
    if original is None and not any(map(_INVENTED.match, code.co_names)):
        if code.co_name.startswith(RESUME_PREFIX) and _is_loaded():
            return with_one_depth(code), resume_options()
        return None
    shown = tuple((name, f"{without_changing_parts(name)}_0") for name in code.co_names if COMPILED_FN.match(name))
    options = replace(generated_options(original, code), shown=shown)  # lines are broken where a dump breaks them
    if original is None and generated_options(code, code).promises.variables is not None:
        added = frozenset(name for name in code.co_varnames[code.co_argcount :] if _ADDED.match(name))
        options = replace(options, promises=replace(options.promises, variables=added))
    return code, options


def saved_originals(units: Iterable[CodeUnit]) -> dict[tuple[object, ...], CodeUnit]:
    """The code objects in one file that may be originals of Dynamo's code, by their place."""
    found: dict[tuple[object, ...], CodeUnit] = {}
    for unit in units:
        if not any(map(_INVENTED.match, unit.names)):
            found.setdefault(_place(unit), unit)
    return found


def saved_code_options(unit: CodeUnit, originals: dict[tuple[object, ...], CodeUnit]) -> Options:
    """How to decompile code that was read from a file; ``originals`` as ``saved_originals`` gives them."""
    if not any(map(_INVENTED.match, unit.names)):
        return resume_options() if unit.name.startswith(RESUME_PREFIX) else Options()
    shown = tuple((name, f"{without_changing_parts(name)}_0") for name in unit.names if COMPILED_FN.match(name))
    return replace(saved_options(originals.get(_place(unit)), unit), shown=shown)


def _place(unit: CodeUnit) -> tuple[object, ...]:
    counts = unit.argcount, unit.posonlyargcount, unit.kwonlyargcount, unit.freevars
    return unit.filename, unit.firstlineno, unit.name, *counts


def _is_loaded() -> bool:
    return "torch._dynamo.convert_frame" in sys.modules


def _made_of(code: types.CodeType) -> types.CodeType | None:
    """The code that Dynamo made ``code`` of."""
    if not _is_loaded():
        return None
    try:
        from torch._dynamo.utils import orig_code_map
        from torch._guards import CompileContext

        if code in orig_code_map:
            known = orig_code_map[code]
            return known if isinstance(known, types.CodeType) else None
        compiles = CompileContext.current_compile_id() is not None
    except (ImportError, AttributeError, TypeError, KeyError):
        compiles = False
    if not compiles and not any(map(_INVENTED.match, code.co_names)):
        return None
    return next((given for given in reversed(codes_seen()) if _may_be_made_of(code, given)), None)


def _may_be_made_of(code: types.CodeType, given: types.CodeType) -> bool:
    """Whether ``code`` stands where ``given`` does, takes the same and has its variables, but is not it."""

    def place(one: types.CodeType) -> tuple[object, ...]:
        counts = one.co_argcount, one.co_posonlyargcount, one.co_kwonlyargcount, one.co_freevars
        return one.co_filename, one.co_firstlineno, one.co_name, *counts

    if code is given or place(code) != place(given) or code.co_code == given.co_code:
        return False
    return code.co_varnames[: len(given.co_varnames)] == given.co_varnames
