"""The pages of one function: ``__original_code_*`` as Dynamo was given it, ``__transformed_code_*`` what Dynamo made of
it.

Input: records.  A ``__transformed_code_*`` page is valid Python; the function starts on ``first_line``, which does not
depend on whether the code runs (the head has the same number of lines either way), so that line numbers can be fixed
first.
"""

from __future__ import annotations

from dataclasses import dataclass

from depyf.decompiler.emit.comments import comments, source_lines
from depyf.run.files.layout import LISTING
from depyf.run.files.line_table import NO_ORIGIN, LineOrigin, LineTable, line_table
from depyf.run.places.place import Place
from depyf.run.records import CodeRecord, CompileKey, FunctionRecord, TransformedRecord
from depyf.safety.escape import one_line


def source_of(code: CodeRecord) -> str:
    """The source of a function as a page shows it."""
    return code.source or "(its source cannot be read)"


def original_page(function: FunctionRecord) -> str:
    """The whole ``__original_code_*`` file: where the function is, its source (decompiled, for a resume function), its
    bytecode."""
    code = function.code
    what = "The rest of a function after a graph break:" if function.resume_of is not None else "The function"
    return (
        f"{what} {code.qualname}, {code.filename}:{code.line}, as Dynamo was given it.\n\n"
        f"{source_of(code)}\n\n{LISTING}\n\n{code.disassembly or '(the function is gone)'}\n"
    )


@dataclass(frozen=True, slots=True)
class TransformedPage:
    text: str
    first_line: int
    """1-based line on which the function's text starts."""


def transformed_page(
    key: CompileKey, function: CodeRecord, transformed: TransformedRecord, disassembly: str
) -> TransformedPage:
    """The whole ``__transformed_code_*`` file."""
    head = _head(key, function, transformed)
    if transformed.source:
        body = transformed.source.rstrip("\n")
    else:
        body = comments(["Dynamo's bytecode:", *source_lines(disassembly)])
    return TransformedPage(f"{comments(head)}\n\n{body}\n", len(head) + 2)


def transformed_lines(key: CompileKey, function: CodeRecord, transformed: TransformedRecord) -> LineTable | None:
    """The program's lines that the lines of the file come from; None for a file without decompiled text."""
    if not transformed.source:
        return None
    above = [NO_ORIGIN] * (len(_head(key, function, transformed)) + 1)
    own = [LineOrigin(place) for place in places_of_source(function, transformed)]
    return line_table([*above, *own, own[-1]])


def places_of_source(function: CodeRecord, transformed: TransformedRecord) -> list[Place | None]:
    """For each line of the text in ``transformed`` the line of the program; None for what stands above the function."""
    begun = False
    place: Place | None = None
    known = dict(transformed.lines)
    found = []
    for number, line in enumerate(source_lines(transformed.source.rstrip("\n")), 1):
        if not begun and line.startswith(("def ", "async def ")):
            begun, place = True, Place(function.filename, function.line, function.qualname)
        if number in known:
            place = Place(function.filename, known[number], function.qualname)
        found.append(place)
    return found


def _head(key: CompileKey, function: CodeRecord, transformed: TransformedRecord) -> list[str]:
    return [
        f"{function.qualname} ({function.filename}:{function.line}), compile id {key.text}:",
        "the code that torch.compile runs in its place, once the guards in full_code_for_*.py have chosen it.",
        _verdict(transformed),
        _execution(transformed),
        *(f"{name}(...) is the compiled graph in {name}.*.py" for name in transformed.graphs),
        *(f"{name}(...) continues the function after a graph break" for name in transformed.resumes),
        *([f"Not complete by itself: {'; '.join(transformed.needs)}."] if transformed.needs else ()),
    ]


def _verdict(transformed: TransformedRecord) -> str:
    if not transformed.verdicts:
        return "Verdict: none, it could not be decompiled."
    worst = next((v for v in transformed.verdicts if v.status not in ("IDENTICAL", "EQUIVALENT")), None)
    if worst is not None:
        return one_line(f"Verdict: {worst.status}: {worst.qualname}: {worst.reason}")
    equivalent = any(v.status == "EQUIVALENT" for v in transformed.verdicts)
    return "Verdict: EQUIVALENT (proven)" if equivalent else "Verdict: IDENTICAL (proven)"


def _execution(transformed: TransformedRecord) -> str:
    if transformed.substituted:
        return "This text is what runs, with the lines of your program; inside depyf.debug() breakpoints here stop."
    if any(verdict.status == "EDITED" for verdict in transformed.verdicts):
        return one_line(f"Decompiled from what runs, which was edited: {transformed.reason}")
    return one_line(f"Dynamo's own bytecode runs instead of this text: {transformed.reason}")
