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

from depyf.dynamo.names import file_safe, transformed_name
from depyf.dynamo.records import EntryRecord, FunctionRecord, GuardRecord
from depyf.report.layout import transformed_file
from depyf.report.wrap import WIDTH, wrap

_CHECKS = (
    "check_global_state check_no_aliasing check_tensor check_torch_function_mode_stack default_device_is "
    "no_dynamic_marks same_object saved_tensors_hooks_are torch_checks type_is"
).split()


def full_code_page(root: FunctionRecord, resumes: tuple[FunctionRecord, ...]) -> str:
    """The whole file for ``root`` and the resume functions that continue it."""
    functions = (root, *resumes)
    parts = [_head(root, resumes), _imports(functions)]
    for function in functions:
        parts += _function(function)
    return "\n\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def _head(root: FunctionRecord, resumes: tuple[FunctionRecord, ...]) -> str:
    code = root.code
    ids = ", ".join(entry.key.text for entry in root.entries) or "none"
    lines = [
        f"What runs when {code.qualname} ({code.filename}:{code.line}) is called.",
        "",
        f"Compilations: {ids}. Read it from {caller_name(root)}() down: torch tries the entries in that order, runs the",
        "first one whose guards hold, and compiles a new entry when none does. guards_*() spells out what torch checks;",
        "guard_*.check(L) asks torch's own guard manager, in the process that compiled.",
    ]
    if resumes:
        lines += ["", "After a graph break the rest of the function is a function of its own, compiled the same way:"]
        lines += [f"  {resume.code.name} (line {resume.code.line})" for resume in resumes]
    return '"""' + "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''") + '\n"""'


def _imports(functions: Iterable[FunctionRecord]) -> str:
    used = [
        name
        for name in _CHECKS
        if any(re.search(rf"\b{name}\(", g.expression) for f in functions for e in f.entries for g in e.guards)
    ]
    lines = ["from depyf.dynamo.live import live_guard"]
    if used:
        names = "".join(f"    {name},\n" for name in used)
        lines.insert(0, f"from depyf.dynamo.guard_checks import (\n{names})")
    if any("torch." in g.expression for f in functions for e in f.entries for g in e.guards):
        lines.insert(0, "import torch\n")
    return "\n".join(lines)


def caller_name(function: FunctionRecord) -> str:
    """The name under which the page defines what a call does."""
    name = function.resume_names[0] if function.resume_names else function.code.name
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    safe = file_safe(name)
    return safe + "_" if keyword.iskeyword(safe) else safe


def _function(function: FunctionRecord) -> list[str]:
    code = function.code
    what = "resume function" if function.resume_of is not None else "function"
    rule = "# " + "=" * 118
    parts = [f"{rule}\n# {what} {code.qualname}, {code.filename}:{code.line}\n{rule}", _dispatcher(function)]
    parts += [
        f"{name} = {caller_name(function)}  # another name for the same resume function"
        for name in function.resume_names[1:]
        if name.isidentifier()
    ]
    parts.append(_original(function))
    for entry in function.entries:
        parts += _entry(function, entry)
    return parts


def original_name(function: FunctionRecord) -> str:
    return f"__original_{caller_name(function).lstrip('_')}"


def _original(function: FunctionRecord) -> str:
    """The function as it was before torch.compile, under a name of its own."""
    code, name = function.code, original_name(function)
    source = _without_future(textwrap.dedent(code.source))
    renamed = re.sub(
        r"^(?P<start>(?:@.*\n)*(?:async )?def )\w+", lambda m: m["start"] + name, source, count=1, flags=re.M
    )
    try:
        tree = ast.parse(renamed)
    except (SyntaxError, ValueError, RecursionError):
        tree = None
    defined = (
        tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    if defined and name in renamed:
        start = tree.body[0].lineno - 1 if tree is not None else 0  # after the decorators: they would compile again
        body = "\n".join(renamed.splitlines()[start:])
        needs = f"  (its free variables are {', '.join(code.freevars)})" if code.freevars else ""
        return f"# The original{needs}.\n{body}"
    shown = "\n".join("# " + line for line in source.splitlines()) or "# (its source cannot be read)"
    stub = f"def {name}({code.parameters}):\n    raise NotImplementedError({f'see {code.filename}:{code.line}'!r})"
    return f"# The original:\n{shown}\n{stub}"


def _entry(function: FunctionRecord, entry: EntryRecord) -> list[str]:
    if entry.transformed is None and not entry.guards:
        return [_without_code(entry)]
    slug = entry.key.slug
    parts = [
        f"guard_{slug} = live_guard(__file__, {entry.key.text!r})\n\n\n{_guards(function, entry)}",
    ]
    notes = [f"# Compile id {entry.key.text}."]
    if entry.recompiled_because:
        notes.append(f"# Compiled because no earlier entry fitted: {_reasons(entry.recompiled_because)}")
    notes += [f"# Graph break: {first_lines(text)}" for text in entry.breaks]
    transformed = entry.transformed
    if transformed is not None and transformed.source:
        notes.append(f"# Runs from {transformed_file(entry.key, function.code)}" if transformed.substituted else
                     f"# Dynamo's own bytecode runs instead: {one_line(transformed.reason)}")  # fmt: skip
        notes += [f"# {name}(...) is the compiled graph in {name}.*.py" for name in transformed.graphs]
        if transformed.reading:
            notes.append("# Simplified for reading; line by line it is in that file." if transformed.substituted else "# Simplified for reading.")  # fmt: skip
        parts.append("\n".join([*notes, _without_future(transformed.reading or transformed.source)]))
    else:
        why = transformed.reason if transformed is not None else "its bytecode never reached depyf"
        name = transformed_name(entry.key, function.code.name)
        parts.append("\n".join([*notes, f"# It could not be decompiled: {one_line(why)}", f"def {name}({function.code.parameters}):",
                                f"    raise NotImplementedError({'see ' + transformed_file(entry.key, function.code)!r})"]))  # fmt: skip
    return parts


def _without_future(source: str) -> str:
    """``source`` as part of a larger file, where a ``__future__`` import may no longer stand."""
    lines = [line for line in source.splitlines() if not line.startswith("from __future__ import ")]
    return "\n".join(lines).strip("\n")


def _without_code(entry: EntryRecord) -> str:
    """A compilation that ended without compiled code: the frame runs as Python."""
    lines = [f"# Compile id {entry.key.text}: nothing was compiled, the function ran as ordinary Python."]
    lines += [f"# Because: {first_lines(text)}" for text in entry.breaks]
    if entry.failed and not entry.breaks:
        lines.append(f"# Because: {one_line(entry.failed.strip().splitlines()[-1])}")
    return "\n".join(lines)


def _guards(function: FunctionRecord, entry: EntryRecord) -> str:
    name = transformed_name(entry.key, function.code.name)
    slug = entry.key.slug
    lines = [
        f"def guards_{slug}(L, G):",
        f'    """What must hold for {name}() to run (L: local variables, G: globals).  Torch decides: guard_{slug}."""',
    ]
    if not entry.guards:
        return "\n".join([*lines, f"    return guard_{slug}.check(L)  # torch did not print the guards of this entry"])
    lines.append("    return (")
    place = None
    for position, guard in enumerate(entry.guards):
        heading = _heading(guard)
        if heading and heading != place:
            lines.append(f"        # {heading}")
            place = heading
        joined = f"and {_operand(guard)}" if position else _operand(guard)
        lines += _wrapped(joined)
        if guard.why.startswith("user code shown is first use"):
            lines[-1] += "  # a size of 0 or 1 would be compiled separately"
    lines.append("    )")
    return "\n".join(lines)


def _operand(guard: GuardRecord) -> str:
    """The expression, in parentheses where ``and`` would take it apart."""
    body = ast.parse(guard.expression.strip(), mode="eval").body
    loose = isinstance(body, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr))
    return f"({guard.expression.strip()})" if loose else guard.expression.strip()


def _heading(guard: GuardRecord) -> str:
    if guard.place is None:
        return "" if guard.source else "state of torch"
    if "torch/_dynamo/" in guard.place.filename:
        return "state of torch"
    return one_line(f"{guard.place}: {guard.place.text}" if guard.place.text else str(guard.place))


def _wrapped(expression: str) -> list[str]:
    """A long call on several lines, broken between its arguments."""
    prefix = "and " if expression.startswith("and ") else ""
    tree = ast.parse(expression[len(prefix) :].strip(), mode="eval").body
    if len(expression) + 8 <= WIDTH or not isinstance(tree, ast.Call):
        return [f"        {expression}"]
    arguments = [ast.unparse(argument) for argument in tree.args]
    arguments += [f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in tree.keywords]
    return wrap(f"{prefix}{ast.unparse(tree.func)}(", arguments, ")", " " * 8)


def _dispatcher(function: FunctionRecord) -> str:
    code = function.code
    forwarded = code.forwarded.split(", ") if code.forwarded else []
    parameters = code.parameters.split(", ") if code.parameters else []
    lines = wrap(f"def {caller_name(function)}(", parameters, "):")
    free = f"; L also holds the free variables {', '.join(code.freevars)}" if code.freevars else ""
    lines.append(f"    # torch passes the frame's locals{free}")
    lines += wrap("L = {", [f"{name!r}: {name}" for name in code.locals], "}", " " * 4)
    for entry in function.entries:
        if entry.transformed is None and not entry.guards:
            continue
        name = transformed_name(entry.key, code.name)
        gone = "" if entry.guard_state == "live" else "  # no longer in torch's cache when the dump was written"
        lines.append(f"    if guard_{entry.key.slug}.check(L):{gone}")
        lines += wrap(f"return {name}(", forwarded, ")", " " * 8)
    lines += [
        "    # No entry fits. torch compiles this call, adds an entry and runs it; once the function has",
        "    # torch._dynamo.config.recompile_limit entries, or where Dynamo skips the frame, the original runs:",
        *wrap(f"return {original_name(function)}(", forwarded, ")", " " * 4),
    ]
    return "\n".join(lines)


def _reasons(text: str) -> str:
    try:
        import json

        found = json.loads(text)
        return one_line("; ".join(str(reason) for reason in found) if isinstance(found, list) else str(found))
    except ValueError:
        return one_line(text)


def first_lines(text: str, count: int = 2) -> str:
    """The first lines of a report of torch, as one line."""
    return one_line("; ".join(line.strip() for line in text.strip().splitlines()[:count]))


def one_line(text: str) -> str:
    return " ".join(text.split())
