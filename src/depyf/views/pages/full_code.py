"""The page of one ``full_code_for_*`` file: a function, and everything torch does when it is called.

Input: records only.  Output invariant: valid Python that can be imported (it then defines functions and asks nothing
of torch); for each cache entry the guards as expressions with the user's line that caused each, the transformed code,
the resume functions it goes on in, and what happens on a miss.
"""

from __future__ import annotations

import ast
import keyword
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from symtable import symtable

from depyf.decompiler.emit.comments import comment, comments, heading, in_docstring, remark, source_lines
from depyf.run.files.layout import transformed_file
from depyf.run.files.line_table import NO_ORIGIN, LineOrigin, LineTable, line_table
from depyf.run.global_names import resumed, transformed_name, without_changing_parts
from depyf.run.guard_vocabulary import ASKING, CHECKS
from depyf.run.guards.difference import values_beside
from depyf.run.guards.known_kinds import with_handle
from depyf.run.made import Made
from depyf.run.places.place import Place
from depyf.run.records import BreakRecord, CodeRecord, EntryRecord, FunctionRecord, GuardRecord, RecompileRecord
from depyf.safety.escape import one_line, printable, safe_name
from depyf.safety.unheard import parse, spelled_out
from depyf.views.pages.function_pages import places_of_source
from depyf.views.pages.sections.guards_left_out import left_out_comments, served_comments
from depyf.views.pages.sections.without_guard import unguarded_comments
from depyf.views.pages.stand_alone import function_text, without_defaults, without_future
from depyf.views.pages.wrap import WIDTH, split_call, wrap

_CHECKS = sorted(CHECKS)
_LONGEST = max(map(len, _CHECKS))
_LAST_WORD = re.compile(r"\w+\Z")


@dataclass(frozen=True, slots=True)
class FullCodePage:
    """The text of a file, and the lines of the program that its lines come from."""

    text: str
    lines: LineTable


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the page: its lines, each with its origin."""

    lines: list[str]
    origins: list[LineOrigin]


def _part(text: str, origin: LineOrigin = NO_ORIGIN) -> _Part:
    """One whose lines all have the same origin."""
    lines = text.strip("\n").split("\n")
    return _Part(lines, [origin] * len(lines))


def full_code_page(root: FunctionRecord, resumes: tuple[FunctionRecord, ...]) -> FullCodePage:
    """The whole file for ``root`` and the resume functions that continue it."""
    functions = (root, *resumes)
    parts = [_part(_head(root, resumes)), _part("from __future__ import annotations\n\n" + _imports(functions))]
    for function in functions:
        parts += _function(function)
    lines: list[str] = []
    origins: list[LineOrigin] = []
    for part in parts:
        if lines:
            lines += ["", ""]
            origins += [origins[-1]] * 2
        lines += part.lines
        origins += part.origins
    return FullCodePage("\n".join([*lines, ""]), line_table([*origins, origins[-1]]))


def _head(root: FunctionRecord, resumes: tuple[FunctionRecord, ...]) -> str:
    code = root.code
    ids = ", ".join(entry.key.text for entry in root.entries) or "none"
    inner = code.decorated
    known = "" if inner is None else f", the decorated {inner.function} ({inner.filename}:{inner.line}),"
    what = f"{code.qualname} ({code.filename}:{code.line}){known}"
    lines = [
        f"What runs when {what} is called.",
        "",
        (
            f"Compilations: {ids}. Read it from {caller_name(root)}() down: torch tries the entries "
            "in that order, runs the"
        ),
        "first one whose guards hold, and compiles a new entry when none does.",
        "",
    ]
    if _apart(root):
        lines = [
            f"What runs when what {_maker(root)} made of {what} is called.",
            "",
            f"Compilation: {ids}. Read it from {caller_name(root)}() down: where all guards hold the code runs, where "
            "one fails",
            "the call raises. Calls of the function itself are not affected.",
            "",
        ]
    lines += [
        (
            "In the process that compiled, this file runs (depyf.replay): "
            "guards_*() is evaluated and compared with torch's own"
        ),
        (
            "answer, __transformed_code_*() is the very code torch runs, and nothing is compiled. "
            "Elsewhere it is for reading."
        ),
    ]
    if resumes:
        lines += ["", "After a graph break the rest of the function is a separate function, compiled the same way:"]
        for resume in resumes:  # both ways after one test have the same name and line
            ids = ", ".join(entry.key.text for entry in resume.entries)
            lines.append(f"  {resume.code.name} (line {resume.code.line}){f': {ids}' if ids else ''}")
    text = in_docstring("\n".join(map(printable, lines)))
    return f'"""{text}\n"""'


_NO_OTHER = "A guard fails. What was compiled ahead of time fits no other call: this one raises."
_NO_VARIANT = "A guard of each variant fails. An artefact serves what was captured: this call raises."


def _maker(function: FunctionRecord) -> str:
    precompiled = any(entry.made is Made.PRECOMPILED for entry in function.entries)
    return "torch.compiler.precompile" if precompiled else "aot_compile"


def _apart(function: FunctionRecord) -> bool:
    """It is called by itself, as an object that was compiled ahead of time."""
    return any(entry.made.apart for entry in function.entries)


def _imports(functions: Iterable[FunctionRecord]) -> str:
    text = "\n".join(g.expression for f in functions for e in f.entries for g in e.guards)
    tails = {piece[-_LONGEST - 1 :] for piece in text.split("(")}  # a tenth of what a search for the calls takes
    called = {match[0] for tail in tails if (match := _LAST_WORD.search(tail)) is not None}
    used = [name for name in _CHECKS if name in called]
    live = "live_frame, live_guard" if any(shown(e) for f in functions for e in f.entries) else "live_frame"
    lines = [f"from depyf.dynamo.live import {live}"]
    if used:
        names = "".join(f"    {name},\n" for name in used)
        lines.insert(0, f"from depyf.dynamo.guard_checks import (\n{names})")
    if "torch." in text:
        lines.insert(0, "import torch\n")
    if "math." in text:
        lines.insert(0, "import math\n")
    return "\n".join(lines)


def caller_name(function: FunctionRecord) -> str:
    """The page's name of the function that shows what a call does."""
    return called(function.resume_names, function.code.name)


def called(resume_names: tuple[str, ...], name: str) -> str:
    """The identifier for a function on a page: the name by which transformed code calls it, else ``name``."""
    name = without_changing_parts(resume_names[0]) if resume_names else name
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    safe = safe_name(name)
    return safe + "_" if keyword.iskeyword(safe) else safe


def _function(function: FunctionRecord) -> list[_Part]:
    code = function.code
    origin = LineOrigin(_begin(code))
    what = "resume function" if function.resume_of is not None else "function"
    title = heading(f"{what} {code.qualname}, {code.filename}:{code.line}")
    texts = [
        f"{title}\n\n{frame_name(function)} = live_frame(__file__, {function_id(function.function)!r})",
        _dispatcher(function),
    ]
    texts += [
        remark(f"{name} = {caller_name(function)}", "another name for the same resume function")
        for name in other_names(function)
    ]
    parts = [_part(text, origin) for text in (*texts, original_text(function))]
    for entry in function.entries:
        parts += _entry(function, entry)
    return parts


def _begin(code: CodeRecord) -> Place:
    """The line on which the program's function begins."""
    return Place(code.filename, code.line, code.qualname)


def function_id(function: tuple[int, str]) -> str:
    """The number of the frame in the compile ids of one function: ``0``, ``0r1`` after ``torch._dynamo.reset()``."""
    generation, text = function
    return f"{text}r{generation}" if generation else text


def frame_name(function: FunctionRecord) -> str:
    return f"frame_{re.sub('[^0-9A-Za-z]+', '_', function_id(function.function).replace('!', 'ca')).strip('_')}"


def guard_name(entry: EntryRecord) -> str:
    """The page's name of an entry in torch's cache."""
    return f"guard_{entry.key.slug}"


def guards_name(entry: EntryRecord) -> str:
    """The page's name of the function that evaluates the guards of an entry."""
    return f"guards_{entry.key.slug}"


def entry_id(entry: EntryRecord) -> str:
    return f"{entry.key.text}r{entry.key.generation}" if entry.key.generation else entry.key.text


def shown(entry: EntryRecord) -> bool:
    """Whether the page has guards and code for this compilation; otherwise it has the reason."""
    return entry.transformed is not None or bool(entry.guards)


def original_name(function: FunctionRecord) -> str:
    return original_of(caller_name(function))


def original_of(caller: str) -> str:
    """The page's name of the original of the function ``caller``."""
    return f"__original_{caller.lstrip('_')}"


def other_names(function: FunctionRecord) -> tuple[str, ...]:
    """The other names by which transformed code calls the function, besides ``caller_name``."""
    names = dict.fromkeys(map(without_changing_parts, function.resume_names[1:]))
    return tuple(name for name in names if name.isidentifier() and name != caller_name(function))


def original_text(function: FunctionRecord) -> str:
    """The function as it was before torch.compile, under a separate name."""
    code, name = function.code, original_name(function)
    source = spelled_out(without_future(textwrap.dedent(code.source)))  # nothing that reads the page is warned of it
    renamed = re.sub(
        r"^(?P<start>(?:@.*\n)*(?:async )?def )\w+", lambda m: m["start"] + name, source, count=1, flags=re.M
    )
    try:
        tree = parse(renamed)
        if "nonlocal" in renamed:  # the parser lets it pass without a function around
            symtable(renamed, "<original>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        tree = None
    node = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and name in renamed:
        return without_defaults(renamed, node, f"@{frame_name(function)}.original")
    text = comments(["The original:", *source_lines(source or "(its source cannot be read)")])
    stub = f"def {name}({code.parameters}):\n    raise NotImplementedError({f'see {code.filename}:{code.line}'!r})"
    return f"{text}\n@{frame_name(function)}.original\n{stub}"


def _entry(function: FunctionRecord, entry: EntryRecord) -> list[_Part]:
    begin = _begin(function.code)
    if not shown(entry):
        return [_part(_without_code(entry), LineOrigin(begin))]
    asked = guard_name(entry)
    origin = LineOrigin(begin, entry_id(entry))
    parts = [
        _part(f"{asked} = live_guard(__file__, {entry_id(entry)!r})", origin),
        _guards(function, entry),
        *(_part(text, origin) for text in (*left_out_comments(function, entry), *served_comments(function, entry))),
        *(_part(text, origin) for text in unguarded_comments(entry)),
    ]
    notes = [f"Compile id {entry.key.text}."]
    notes += [f"Compiled because {_unfit(record)}" for record in entry.recompiles[:1]]
    notes += [f"Graph break: {_broken(record)}" for record in entry.breaks]
    transformed = entry.transformed
    if transformed is not None and transformed.source:
        if entry.made is not Made.CALL:
            notes[0] += f" It was {entry.made.words}."
        notes.append(f"Runs from {transformed_file(entry.key, function.code)}" if transformed.substituted else
                     f"Dynamo's own bytecode runs instead: {one_line(transformed.reason)}")  # fmt: skip
        notes += [f"{name}(...) is the compiled graph in {name}.*.py" for name in transformed.graphs]
        head = _part(comments(notes), origin)
        text = function_text(transformed.source, f"@{asked}.runs")
        places = [None, *places_of_source(function.code, transformed)]
        origins = [LineOrigin(places[number] or begin, origin.entry) for number, _ in text]
        parts.append(_Part([*head.lines, *(line for _, line in text)], [*head.origins, *origins]))
    else:
        why = transformed.reason if transformed is not None else "its bytecode never reached depyf"
        name = transformed_name(entry.key, function.code.name)
        notes.append(f"It could not be decompiled: {one_line(why)}")
        stub = [
            f"@{asked}.runs", f"def {name}({function.code.parameters}):",
            f"    raise NotImplementedError({'see ' + transformed_file(entry.key, function.code)!r})",
        ]  # fmt: skip
        parts.append(_part("\n".join([comments(notes), *stub]), origin))
    return parts


def _without_code(entry: EntryRecord) -> str:
    """A compilation that ended without compiled code: the frame runs as Python, unless torch raised an error; and an
    entry that was loaded, where torch let go of it before anything could be read of it."""
    if entry.made.loaded:
        gone = "torch no longer had it when the recording looked, so that its guards and its code are not known"
        return comments([f"Compile id {entry.key.text} was loaded: {gone}."])
    end = "torch raised an error" if entry.raised else "the function ran as ordinary Python"
    lines = [f"Compile id {entry.key.text}: nothing was compiled, {end}."]
    lines += [f"Because: {_broken(record)}" for record in entry.breaks]
    if entry.failed and not entry.breaks:
        lines.append(f"Because: {one_line(entry.failed)}")
    return comments(lines)


def _guards(function: FunctionRecord, entry: EntryRecord) -> _Part:
    name = transformed_name(entry.key, function.code.name)
    own = guard_name(entry)
    lines = [
        f"@{own}.confirmed",
        f"def {guards_name(entry)}(L, G):",
        f'    """What must hold for {name}() to run (L: local variables, G: globals)."""',
    ]
    if not entry.guards:
        asked = remark(f"    return {own}.check(L)", "torch did not print the guards of this entry")
        return _part("\n".join([*lines, asked]), LineOrigin(None, entry_id(entry)))
    lines.append("    return (")
    origin = LineOrigin(None, entry_id(entry))
    origins = [origin] * len(lines)
    place, seen = "", None  # the heading that stands, and the place it is of
    for position, guard in enumerate(entry.guards):
        caused = place if seen is not None and guard.place is seen else _heading(guard)
        seen = None if caused in _NO_LINE else guard.place
        if caused and caused != place:
            lines.append(comment(caused, " " * 8))
            place, origin = caused, LineOrigin(None if caused in _NO_LINE else _cause(guard), origin.entry)
        lines += _operand(guard, f"{own}[{position}]", "and " if position else "")
        if guard.why.startswith("user code shown is first use"):
            lines[-1] = remark(lines[-1], "a size of 0 or 1 would be compiled separately")
        origins += [origin] * (len(lines) - len(origins))
    return _Part([*lines, "    )"], [*origins, origin])


def _cause(guard: GuardRecord) -> Place | None:
    """The line of the program that caused a guard."""
    if guard.place is None:
        return None
    rest = resumed(guard.place.function)
    return replace(guard.place, function=rest[0] if rest else guard.place.function, text=one_line(guard.place.text))


def _operand(guard: GuardRecord, handle: str, joint: str) -> list[str]:
    """The lines of one operand: the expression, in parentheses where ``and`` would take it apart; with ``handle`` where
    it has to ask torch.  A long call is broken between its arguments."""
    expression = guard.expression.strip()
    check = expression.partition("(")[0]
    asking, arguments = check in ASKING, expression[len(check) + 1 : -1]
    if asking and arguments and "(" not in arguments and expression[-1] == ")" and len(expression) < WIDTH // 2:
        return [f"        {joint}{check}({', '.join(with_handle(check, [arguments], handle))})"]
    told = _OPERANDS.fullmatch(expression) if asking else None
    if told is not None:  # nearly all guards, told by one match
        return wrap(
            f"{joint}{check}(",
            with_handle(check, [told["first"], told["second"], *_OPERAND.findall(told["more"])], handle),
            ")",
            " " * 8,
        )
    call = split_call(expression) if asking or len(expression) + len(joint) + 8 > WIDTH else None
    if asking and call is not None:
        return wrap(f"{joint}{check}(", with_handle(check, call[1], handle), ")", " " * 8)
    if _MAY_BE_LOOSE.search(expression):
        body = parse(expression, mode="eval").body
        if isinstance(body, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)):
            return [f"        {joint}({expression})"]
    if len(expression) + len(joint) + 8 <= WIDTH or call is None:
        return [f"        {joint}{expression}"]
    return wrap(f"{joint}{call[0]}(", call[1], ")", " " * 8)


_OPERANDS = re.compile(
    r"\w+\((?P<first>[\w.\[\]']+), (?P<second>'[\w.]+')"
    r"(?P<more>(?:, (?:torch\.\w+|\w+=(?:\w+|'[\w, ]*'|\[[^]]*\])))*)\)"
)
_OPERAND = re.compile(r"torch\.\w+|\w+=(?:\w+|'[\w, ]*'|\[[^]]*\])")
"""A call with plain arguments."""
_MAY_BE_LOOSE = re.compile(r"\b(?:and|or|if|lambda)\b|:=")


_NO_LINE = ("", "relations between sizes", "state of torch")
"""What stands above guards that no line of the user caused."""


def _heading(guard: GuardRecord) -> str:
    if guard.place is None and guard.source:
        return _NO_LINE[0]
    if guard.place is None or "torch/_dynamo/" in guard.place.filename:
        measured = any(part in guard.expression for part in (".size()", ".stride()", ".storage_offset()"))
        return _NO_LINE[1] if measured else _NO_LINE[2]
    return one_line(f"{guard.place}: {guard.place.text}" if guard.place.text else str(guard.place))


def _dispatcher(function: FunctionRecord) -> str:
    code = function.code
    forwarded = code.forwarded.split(", ") if code.forwarded else []
    parameters = code.parameters.split(", ") if code.parameters else []
    lines = wrap(f"def {caller_name(function)}(", parameters, "):")
    free = f" and the free variables {', '.join(code.freevars)}" if code.freevars else ""
    lines.append(comment(f"L: the arguments{free}; G: the globals", " " * 4))
    spelled = code.spelled
    given = [f"{name!r}: {spelled[name]}" for name in code.locals]
    lines += wrap(f"L, G = {frame_name(function)}.enter({{", given, "})", " " * 4)
    for entry in function.entries:
        if not shown(entry):
            continue
        name = transformed_name(entry.key, code.name)
        gone = "no longer in torch's cache when the dump was written" if entry.gone else ""
        lines.append(remark(f"    if {guards_name(entry)}(L, G):", gone))
        lines += wrap(f"return {name}(", forwarded, ")", " " * 8)
    ahead = next((entry for entry in function.entries if entry.made.apart and shown(entry)), None)
    if ahead is not None:
        return "\n".join([
            *lines,
            comment(_NO_VARIANT if ahead.made is Made.PRECOMPILED else _NO_OTHER, " " * 4),
            f"    {guard_name(ahead)}.refuse(L)",
        ])  # fmt: skip
    skipped = all(entry.failed and not entry.raised for entry in function.entries)
    why = (
        ["Nothing was compiled (why is said below), so the original runs:"]
        if skipped
        else [
            "No entry fits. torch compiles this call, adds an entry and runs it; once the function has",
            "torch._dynamo.config.recompile_limit entries, or where Dynamo skips the frame, the original runs:",
        ]
    )
    lines += [
        comments(why, " " * 4),
        *wrap(f"return {original_name(function)}(", forwarded, ")", " " * 4),
    ]
    return "\n".join(lines)


def _unfit(record: RecompileRecord) -> str:
    values = values_beside(record.guard, record.expected, record.actual)
    return one_line(f"{record.entry or 'the earlier entry'} did not fit: {record.guard}{values}")


def _broken(record: BreakRecord) -> str:
    place = record.caller or record.place
    at = f"{place.filename}:{place.line}: " if place else ""
    within = f", in {record.place.filename}:{record.place.line}" if record.caller and record.place else ""
    return one_line(f"{at}{record.cause} ({record.reason}{within})")
