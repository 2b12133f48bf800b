"""The contract of the bytecode that Dynamo generates, as options of the decompiler.

Each promise is read off torch's sources (``_dynamo/output_graph.py``, ``codegen.py``, ``resume_execution.py``): globals
with a counter or an id in their name are installed once; a graph's outputs are a list or tuple made for this call; the
profiler's two functions enter and leave a context manager of torch; sources are what guards can read too; a set is
rebuilt from items whose order Dynamo does not keep (``variables/sets.py``), and a dict from keys that Dynamo has hashed
and compared while it traced (``variables/dicts.py``).
"""

from __future__ import annotations

import types
from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.generated.contract import GeneratorContract, looks_up_locals
from depyf.decompiler.generated.resume.strip import global_names
from depyf.decompiler.options import Options
from depyf.run.global_names import BUILTINS, GRAPH, IMPORTED, RESUME, RESUME_FN, RESUME_PREFIX

_IN_PROLOGUE = "__is_tracing_resume_prologue"
"""The variable by which Dynamo knows that it traces the head of a resume function; nothing reads it."""
_FRAMES = ("__nested_resume_fns", "__nested_frame_values", "__resume_frame_values")
"""The parameters by which resume functions hand on those of inner frames, with ``nested_graph_breaks``, and the values
of a frame that deletes some of them."""
_RESUMED = GeneratorContract(resumed=(RESUME_PREFIX,), tracing_flags=(_IN_PROLOGUE,), boxed_parameters=_FRAMES)


def resume_options() -> Options:
    """How to decompile a resume function: the user's code, after Dynamo's way back into it."""
    return Options(promises=replace(_RESUMED, display_only=True, variables=frozenset()))


def generated_options(code: types.CodeType | None, made: types.CodeType) -> Options:
    """How to decompile ``made``, which Dynamo made of ``code`` (None where that is not known)."""
    # what the user's code does not have is Dynamo's own: output_graph.new_var takes care of that
    added = None
    if code is not None:
        own = () if _looks_up_locals(made) else made.co_varnames  # all of them can be seen there
        added = frozenset(own).difference(code.co_varnames, code.co_cellvars)
    return _options(added, _signatures(code, made) if code else ())


def saved_options(code: CodeUnit | None, made: CodeUnit) -> Options:
    """As ``generated_options``, for code that was read from a file."""
    added = None
    if code is not None:
        seen = looks_up_locals(made.names, made.consts) and looks_up_locals(global_names(lower(made)), made.consts)
        added = frozenset(() if seen else made.varnames).difference(code.varnames, code.cellvars)
    return _options(added, ())


def _options(added: frozenset[str] | None, signatures: tuple[tuple[str, tuple[str, ...]], ...]) -> Options:
    return Options(
        generated=True,
        temp_prefix="value_",
        promises=replace(
            _RESUMED,  # resume functions with free variables are made in place
            stable=(GRAPH, RESUME, IMPORTED, "__nested_resume_at_", BUILTINS.removesuffix("_")),
            fixed=("__import_torch_dot__dynamo_", "__import_builtins"),
            tables=("__builtins_dict_",),
            graphs=(GRAPH,),
            closure_factories=(RESUME,),
            profiler_enter=("record_pregraph_bytecode_enter",),
            profiler_exit=("record_pregraph_bytecode_exit",),
            pure_calls=("call_size", "call_stride", "call_storage_offset"),
            readers=("type",),
            reads_first=True,
            unordered=True,
            plain_keys=True,
            variables=added,
            signatures=signatures,
        ),
    )


def _looks_up_locals(made: types.CodeType) -> bool:
    if not looks_up_locals(made.co_names, made.co_consts):
        return False
    names = global_names(lower(CodeUnit.from_code(made)))  # ``model.eval`` is no such name
    return looks_up_locals(names, made.co_consts)


def _signatures(code: types.CodeType, made: types.CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The parameters of the resume functions that ``made`` calls, from torch's table; they only choose names."""
    try:
        from torch._dynamo.resume_execution import ContinueExecutionCache

        known = ContinueExecutionCache.cache.get(code) or {}
        by_offset = {key[0]: resume for key, resume in known.items()}
    except (ImportError, AttributeError, TypeError, IndexError):
        return ()
    found = []
    for name in made.co_names:
        match = RESUME_FN.match(name)
        resume = by_offset.get(int(match["offset"])) if match else None
        if isinstance(resume, types.CodeType):
            found.append((name, resume.co_varnames[: resume.co_argcount]))
    return tuple(found)
