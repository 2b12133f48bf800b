"""The page of one ``__original_code_*`` file: a function as it was given to Dynamo, source and bytecode."""

from __future__ import annotations

from depyf.dump.records import FunctionRecord


def original_page(function: FunctionRecord) -> str:
    """The whole file: where the function is, its source (decompiled, for a resume function), its bytecode."""
    code = function.code
    what = "The rest of a function after a graph break:" if function.resume_of is not None else "The function"
    source = code.source or "(its source cannot be read)"
    return (
        f"{what} {code.qualname}, {code.filename}:{code.line}, as Dynamo was given it.\n\n"
        f"{source}\n\nBytecode:\n\n{code.disassembly or '(the function is gone)'}\n"
    )
