"""What the program calls the values that go over a graph break: Dynamo calls them ``___stack0``.

Input: the records of a run.  Output: for a resume function, each such variable with the expression whose value it
holds: the code before the break passes it to the resume function.
"""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections.abc import Iterable, Mapping

from depyf.run.advice.advice import AdviceUse
from depyf.run.global_names import RESUME, STACK_VARIABLE, resumed
from depyf.run.records import BreakRecord, CodeRecord, FunctionRecord
from depyf.run.run import Run
from depyf.safety.unheard import parse

_LONGEST = 60
_MADE = re.compile(r"\b(?:graph_out|__compiled_fn|__resume_at|__builtins_dict|__import_|___)\w*")
"""Names in transformed code that are not the program's."""


def stack_names(run: Run) -> dict[tuple[int, str], dict[str, str]]:
    """For each resume function its ``___stack`` variables, in the words of the program."""
    known = {name: function for function in run.functions for name in function.resume_names}
    found: dict[tuple[int, str], dict[str, str]] = {}
    for function in run.functions:
        for entry in function.entries:
            if entry.transformed is None or not entry.transformed.resumes:
                continue
            for name, passed in _passed(entry.transformed.source).items():
                target = known.get(name)
                if target is not None:
                    inside = _waits_for_rests(passed, entry.transformed.resumes)
                    words = _words(target, passed, () if inside else entry.breaks)
                    for variable, said in words.items():
                        found.setdefault(target.function, {}).setdefault(variable, said)
    return found


def shown_names(run: Run) -> dict[tuple[int, str], dict[str, str]]:
    """For each resume function what to call all of its ``___stack`` variables: by the program's expression, or by the
    line that computed it (``(value of line 7)``)."""
    known = stack_names(run)
    shown: dict[tuple[int, str], dict[str, str]] = {}
    for function in run.functions:
        rest = resumed(function.code.name)
        names = [name for name in function.code.locals if STACK_VARIABLE.fullmatch(name)]
        for number, name in enumerate(names, 1):
            nth = f" {number}" if len(names) > 1 else ""
            plain = f"(value{nth} of line {rest[1]})" if rest is not None else name
            said = known.get(function.function, {}).get(name, "")
            shown.setdefault(function.function, {})[name] = plain if not said or set(said) & set("|`") else said
    return shown


def advice_in_words(uses: Iterable[AdviceUse], names: Mapping[str, str]) -> tuple[AdviceUse, ...]:
    """``uses`` with what the program calls values that go over a break; ``names``: those of one function, as
    ``stack_names`` gives them."""

    def said(found: re.Match[str]) -> str:
        return names.get(found[0], "a value that goes over the break")

    return tuple(
        AdviceUse(use.id, tuple((name, STACK_VARIABLE.sub(said, value)) for name, value in use.values)) for use in uses
    )


def in_words(text: str, names: Mapping[str, str]) -> str:
    """``text`` with the names of ``shown_names`` in the place of Dynamo's."""
    return STACK_VARIABLE.sub(lambda found: names.get(found[0], found[0]), text)


@functools.lru_cache(maxsize=4096)
def _passed(source: str) -> dict[str, list[str]]:
    """Resume function -> what it is called with, the temporaries of the text replaced by what they hold."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    held: dict[str, ast.expr] = {}
    calls: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            held[node.targets[0].id] = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith(RESUME):
            calls.setdefault(node.func.id, node.args)
    return {
        name: [ast.unparse(held.get(a.id, a) if isinstance(a, ast.Name) else a) for a in args]
        for name, args in calls.items()
    }


def forget_texts() -> None:
    """Clear the caches of parsed source lines, when a recording is written."""
    _passed.cache_clear()
    waiting.cache_clear()


def asked_expression(record: BreakRecord) -> str:
    """The call in the program's line that broke the graph: ``y.max().item()``; "" where it cannot be told."""
    place = record.caller or record.place
    line = place.text if place is not None else ""
    wanted = record.asked.rpartition(".")[2]
    made = _calls(line)
    if record.caller is not None:  # it broke in a function of a library: what that returns goes over the break
        whole = [node for node in made if ast.unparse(node) == _normal(record.expression)]
        return ast.unparse((whole or made)[0]) if whole or len(made) == 1 else ""
    calls = [node for node in made if wanted and ast.unparse(node.func).rpartition(".")[2] == wanted]
    return ast.unparse(calls[0]) if len(calls) == 1 else ""


def _returned(rest: CodeRecord, record: BreakRecord) -> tuple[str, str]:
    """The expression of the rest of a function whose value a break has waited for, and its line; ("", "") where it
    cannot be told.  Where the break is in a function that the line calls, the call."""
    place, at = record.caller or record.place, resumed(rest.name)
    if place is None or at is None or (place.filename, place.line) == (rest.filename, int(at[1])):
        return asked_expression(record), place.text if place is not None else ""
    number = int(at[1]) - rest.line
    lines = textwrap.dedent(rest.source).splitlines()
    try:
        made = [node for node in ast.walk(parse("\n".join(lines))) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", ""
    here = [node for node in made if node.lineno - 1 <= number < (node.end_lineno or node.lineno)]
    name = place.function.rpartition(".")[2]
    named = [node for node in here if ast.unparse(node.func).rpartition(".")[2] == name]
    found = named if named else here
    return (ast.unparse(found[0]), lines[number].strip()) if len(found) == 1 else ("", "")


def _is_literal(text: str) -> bool:
    """Whether it is a value, and no name for one."""
    try:
        ast.literal_eval(parse(text, "eval"))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return False
    return True


def _normal(expression: str) -> str:
    """The expression as ``ast.unparse`` writes it; "" where it is none."""
    try:
        return ast.unparse(parse(expression, mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _calls(line: str) -> list[ast.Call]:
    """The calls in a line of a program, which may be the head of a compound statement."""
    tree = _tree(line)
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree is not None else []


@functools.lru_cache(maxsize=4096)
def waiting(line: str, expression: str) -> tuple[str, ...]:
    """The parts of ``line`` that Python evaluates before ``expression``: ``("a * b", "f")`` for ``x.item()`` in ``a * b
    + f(x.item())``.  () where ``expression`` does not occur exactly once."""
    tree, wanted = _tree(line), _normal(expression)
    found = (
        [node for node in ast.walk(tree) if isinstance(node, ast.expr) and ast.unparse(node) == wanted] if tree else []
    )
    if tree is None or len(found) != 1:
        return ()
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    before: list[str] = []
    node: ast.AST = found[0]
    while node in above:
        parent = above[node]
        before = [ast.unparse(one) for one in _earlier(parent, node)] + before
        node = parent
    return tuple(before)


def _earlier(parent: ast.AST, node: ast.AST) -> list[ast.expr]:
    """The parts of ``parent`` whose values wait while ``node``, another part of it, is computed."""
    match parent:
        case ast.BinOp():
            parts = [parent.left, parent.right]
        case ast.Compare():
            parts = [parent.left, *parent.comparators]
            return parts[max(0, parts.index(node) - 1) : parts.index(node)] if node in parts else []
        case ast.Subscript():
            parts = [parent.value, parent.slice]
        case ast.Call():
            parts = [parent.func, *parent.args, *(keyword.value for keyword in parent.keywords)]
        case ast.List() | ast.Tuple() | ast.Set():
            parts = list(parent.elts)
        case _:
            return []
    return [part for part in parts[: parts.index(node)] if not isinstance(part, ast.Starred)] if node in parts else []


def _tree(line: str) -> ast.Module | None:
    """A line of a program, which may be the head of a compound statement."""
    for text in (line, f"{line}\n    pass", f"if True: pass\n{line}\n    pass", f"({line.rstrip(',')})"):
        try:
            return parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _waits_for_rests(passed: list[str], resumes: tuple[str, ...]) -> bool:
    """Whether a resume function is passed the rests of functions that it calls (``nested_graph_breaks``): what the
    break evaluated goes to the innermost of these."""
    lists = (node.elts for text in passed if isinstance(node := _expression_of(text), ast.List) and node.elts)
    return any(all(isinstance(one, ast.Name) and one.id in resumes for one in elements) for elements in lists)


def _expression_of(text: str) -> ast.expr | None:
    try:
        return parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _words(target: FunctionRecord, passed: list[str], breaks: tuple[BreakRecord, ...]) -> dict[str, str]:
    """The ``___stack`` parameters of ``target``: what the break evaluated for the last of them, what is passed for
    others."""
    names = [name for name in target.code.locals if STACK_VARIABLE.fullmatch(name)]
    asked = [(found, line) for record in breaks for found, line in [_returned(target.code, record)] if found]
    expressions = [found for found, _ in asked]
    before = waiting(asked[-1][1], expressions[-1]) if asked else ()
    words = {}
    for number, name in enumerate(names):
        position = target.code.locals.index(name)
        said = passed[position] if position < len(passed) else ""
        if number < len(names) - 1 == len(before):
            said = before[number]  # the line says it better than the code around the break
        elif _is_literal(said):
            said = ""
        if name == names[-1] and expressions and not expressions[-1].startswith(said or "("):
            said = expressions[-1]  # the call that broke the graph has just returned it
        if said and len(said) <= _LONGEST and not _MADE.search(said):
            words[name] = said
    return words
