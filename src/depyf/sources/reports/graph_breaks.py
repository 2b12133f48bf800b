"""torch's report of a graph break -> a record.

Input: the payload of ``dynamo_graph_break_reason``.  Output: the user's line, torch's reason, explanation and hints,
and the cause in plain words.  The layout of the report differs from release to release: a part that is not found is
empty, and the whole text is kept.
"""

from __future__ import annotations

import linecache
import re

from depyf.run.advice.advice import AdviceUse, SwitchKind
from depyf.run.advice.break_text import (
    asked_by,
    break_number,
    deciding_random,
    method_left_behind,
    named_builtin,
    named_manager,
    named_plain_function,
    skipped_because,
)
from depyf.run.advice.for_breaks import BreakFacts, for_break
from depyf.run.advice.registry import ADVICE, applicable, option_key
from depyf.run.causes.stack_names import waiting
from depyf.run.installed_files import Owner, installed
from depyf.run.places.place import Place
from depyf.run.records import BreakRecord
from depyf.run.uses.computed_from import made_by
from depyf.run.uses.size_questions import in_while, loop_is_call, size_questions
from depyf.run.uses.use_kinds import ValueUse
from depyf.run.uses.value_uses import is_read, reads_used_at, uses_at
from depyf.safety.source_lines import source_line
from depyf.sources.reports.advised_functions import function_named
from depyf.sources.reports.break_stack import NOTHING_KNOWN, BrokenAt, StackFrame, frames_of, traced_frames
from depyf.sources.reports.library_files import of_libraries

_AT = re.compile(r"^Graph break in user code at (?P<file>.+?):(?P<line>\d+)\s*$", re.M)
_REASON = re.compile(r"^(?:Graph Break )?Reason: (?P<reason>.*)$", re.M)
_FIELD = re.compile(r"^  (?P<name>Explanation|Hint|Developer debug context): ?(?P<text>.*)$")
_SKIPPED = "Skipping the function and falling back to eager"
_CUT = "then skipping the rest of the function"
_IN_LOOP = "graph break in a for/while loop"

IN_A_TEXT = "a text is formatted here with a value that is known only when the compiled code runs"
_PLAIN = (
    ("unsupported tensor.backward", "backward() cannot be part of a compiled graph"),
    ("using `torch.autograd.grad`", "torch.autograd.grad cannot be part of a compiled graph"),
    ("requires_grad_() intermediate leaked",
     "requires_grad_() is called on a tensor that the compiled function makes and passes on"),
    ("returning intermediate with requires_grad_()",
     "requires_grad_() is called on a tensor that the compiled function makes and passes on"),
    ("data-dependent branching",
     "which way this branch goes depends on the values in a tensor, and those are not known while compiling"),
    ("data-dependent jump",
     "which way this branch goes depends on the values in a tensor, and those are not known while compiling"),
    ("unsupported tensor.item",
     "this reads a number out of a tensor, and the values in it are not known while compiling"),
    ("dynamic shape operator",
     "the size of the result depends on the values in a tensor, and those are not known while compiling"),
    ("data dependent operator",
     "the result is a number read out of a tensor, and the values in it are not known while compiling"),
    ("data-dependent expression",
     "torch must know a number here that was read out of a tensor, and the values in it are not known while compiling"),
    ("tolist() with non-integer",
     "this reads numbers out of a tensor, and the values in it are not known while compiling"),
    ("build_string type error", IN_A_TEXT),
    ("format string part type", IN_A_TEXT),
    ("builtin: print", "print() writes while the program runs; a compiled graph cannot"),
    ("builtin operator `print`", "print() writes while the program runs; a compiled graph cannot"),
    ("call to `torch._dynamo.graph_break", "the program asked for a graph break here"),
    ("skip calling `torch.compiler.disable", "this function was excluded from compilation by torch.compiler.disable"),
    ("skip inlining", "this function was excluded from compilation"),
    ("attempted to call function marked as skipped",
     "Dynamo does not look into this function (a builtin, C or library function)"),
    ("unsupported context manager", "Dynamo does not know this context manager"),
    ("logging.logger method", "logging writes while the program runs; a compiled graph cannot"),
    ("logger not supported", "logging writes while the program runs; a compiled graph cannot"),
    ("observed exception", "an exception was raised here while compiling"),
    ("generic_jump",
     "which way this branch goes depends on the values in a tensor, and those are not known while compiling"),
    ("tensor.item", "this reads a number out of a tensor, and the values in it are not known while compiling"),
    ("skip function graph_break in file", "the program asked for a graph break here"),
    ("'skip function", "Dynamo does not look into this function (a builtin, C or library function)"),
    ("call_function graph_break", "the program asked for a graph break here"),
    ("recompile limit exceeded", "it has as many compilations as the recompile limit in torch._dynamo.config allows"),
    ("cache limit exceeded", "it has as many compilations as the recompile limit in torch._dynamo.config allows"),
    ("call to a time function", "a clock is read while the program runs; a compiled graph cannot"),
    ("rnn, gru, or lstm", "Dynamo does not support RNN, GRU, or LSTM"),
    ("failed to trace builtin operator", "Dynamo does not know this builtin for these arguments"),
)  # fmt: skip
"""What torch's reason contains, in lower case -> the cause in plain words."""


_ADDRESS = re.compile(r" ?\bat 0x[0-9a-fA-F]{5,}")


def parse_break(
    text: str,
    in_force: frozenset[str] = frozenset(),
    at_break: BrokenAt = NOTHING_KNOWN,
) -> BreakRecord:
    """The record of one report, without the addresses of objects that torch shows: they differ in every run.

    ``in_force``: the options that are as an advice would have them; ``at_break``: what the report does not say."""
    text = _ADDRESS.sub("", text)
    at = _AT.search(text)
    frames = [*frames_of(text), *traced_frames(at_break.traced)]
    place, expression = None, ""
    if at is not None:
        where = at["file"], int(at["line"])
        inner = next((f for f in reversed(frames) if (f.place.filename, f.place.line) == where), None)
        place = inner.place if inner is not None else Place(*where, text=source_line(*where))
        expression = inner.expression if inner is not None else ""
    elif frames:
        place, expression = frames[-1].place, frames[-1].expression
    marked = expression
    caller = _caller(place, frames)
    if caller is not None:
        expression = caller.expression
    fields = _fields(text.partition("User code traceback:")[0])
    reason = _reason(text)
    explanation = " ".join(fields.get("Explanation", ()))
    shown = caller.place if caller is not None else place
    traced = traced_frames(at_break.traced) or ([StackFrame(place, marked)] if place is not None else [])
    facts = BreakFacts(
        reason,
        explanation,
        tuple(fields.get("Hint", ())),
        place.filename if place is not None else "",
        _owner(place, caller),
        linecache.getline(shown.filename, shown.line).strip() if shown is not None else "",
        text,
        expression,
        lambda: uses_of_value(traced),
        lambda: reads_used_at(linecache.getlines(shown.filename), shown.line) if shown is not None else frozenset(),
        lambda: _size_question(shown),
        bool(traced) and all(of_libraries(frame.place.filename) for frame in traced),
        lambda: made_by(linecache.getlines(shown.filename), shown.line) if shown is not None else frozenset(),
        lambda: shown is not None and in_while(linecache.getlines(shown.filename), shown.line),
        break_number(text),
        deciding_random(text),
        lambda: _loop_is_call(traced),
        _waiting(explanation, shown, expression),
    )
    given = for_break(facts, is_in_loop(text))
    return BreakRecord(
        text=text,
        place=place,
        reason=reason,
        cause=_cause(facts, place, caller is not None or facts.owner is Owner.TORCH)
        + _followed(facts, given, in_force),
        explanation=explanation,
        hints=tuple(fields.get("Hint", ())),
        code=facts.number,
        skipped=_SKIPPED in text,
        cut=_CUT in text,
        in_loop=is_in_loop(text),
        caller=caller.place if caller is not None else None,
        asked=asked_by(reason, explanation, " ".join(fields.get("Developer debug context", ()))),
        expression=expression,
        module=at_break.module,
        advice=_possible(given, in_force),
    )


def _size_question(shown: Place | None) -> str:
    """The first line that asks about the size of what the line ``shown`` computes; "" for none."""
    asked = size_questions(linecache.getlines(shown.filename), shown.line) if shown is not None else ()
    return f"{shown.filename}:{asked[0].line}" if shown is not None and asked else ""


def _loop_is_call(frames: list[StackFrame]) -> bool:
    """Whether the outermost loop on the way to the break does nothing but call a function."""
    loops = (loop_is_call(linecache.getlines(frame.place.filename), frame.place.line) for frame in frames)
    return next((found for found in loops if found is not None), False)


def _waiting(explanation: str, shown: Place | None, expression: str) -> str:
    """The method in the program's line that waits for ``expression``, and that Dynamo has no code for; "" for none."""
    name = method_left_behind(explanation)
    line = source_line(shown.filename, shown.line).strip() if name and shown is not None else ""
    found = [part for part in waiting(line, expression) if part.rpartition(".")[2] == name] if line else []
    return found[-1] if found else ""


def _cause(facts: BreakFacts, place: Place | None, of_torch: bool) -> str:
    """What broke the graph, in plain words; a number that is a symbol may decide a branch, which torch does not say."""
    deciding = "data-dependent expression" in facts.reason and facts.uses_here() & {
        ValueUse.BRANCH,
        ValueUse.CHECK,
        ValueUse.REPORT,
    }
    of_torch = of_torch or facts.owner is Owner.TORCH
    if facts.random:
        return "which way this branch goes depends on a random number, and that is drawn in every call"
    if facts.waiting:
        return (
            f"`{facts.waiting}` is a method of an object made while compiling, and torch cannot keep it while "
            f"`{facts.expression}` breaks the graph"
        )
    return _BRANCH if deciding else _plain_words(facts.reason, facts.explanation, place, of_torch)


def _followed(facts: BreakFacts, given: tuple[AdviceUse, ...], in_force: frozenset[str]) -> str:
    """Which way out is followed already, and does not help here."""
    switches = [(ADVICE[use.id].switch, use) for use in given]
    options = [switch.name for switch, use in switches if switch is not None and option_key(switch, use) in in_force]
    decides = {
        ValueUse.BRANCH,
        ValueUse.CHECK,
        ValueUse.REPORT,
        ValueUse.LOOP,
        ValueUse.KEY,
        ValueUse.INDEX,
        ValueUse.SIZE,
    }
    if _CAPTURED in in_force and not options and _of_symbol(facts.reason) and facts.uses_here() & decides:
        options.append(_CAPTURED)
    return f"; torch._dynamo.config.{options[0]} is set already, and does not help here" if options else ""


_CAPTURED = "capture_scalar_outputs"


def _of_symbol(reason: str) -> bool:
    """Whether torch broke the graph at a number that is a symbol of it, or at a branch."""
    said = reason.lower()
    return any(part in said for part in ("data-dependent", "generic_jump"))


def _possible(given: tuple[AdviceUse, ...], in_force: frozenset[str]) -> tuple[AdviceUse, ...]:
    """What is left of the advice: nothing that is followed already, and no function that cannot be named."""
    return tuple(
        use
        for use in applicable(given, in_force)
        if (switch := ADVICE[use.id].switch) is None
        or switch.kind is not SwitchKind.ADD
        or function_named(use.value(switch.value)) is not None
    )


def _caller(place: Place | None, frames: list[StackFrame]) -> StackFrame | None:
    """Where ``place`` is in code of a library: the innermost frame of the program; where all of the program is in
    libraries, the innermost one that is not in torch or the standard library."""
    if place is None or not (of_libraries(place.filename) or installed(place.filename)):
        return None
    outer = [frame for frame in reversed(frames) if not of_libraries(frame.place.filename)]
    own = next((frame for frame in outer if not installed(frame.place.filename)), None)
    if own is None and of_libraries(place.filename):
        own = outer[0] if outer else None
    return own


def _owner(place: Place | None, caller: StackFrame | None) -> Owner:
    """Whose file the line is in; where no program called it, what is installed is the program."""
    if place is None or not place.filename:
        return Owner.PROGRAM
    if of_libraries(place.filename):
        return Owner.TORCH if _TORCH.search(place.filename) else Owner.LIBRARY
    return Owner.LIBRARY if caller is not None else Owner.PROGRAM


_TORCH = re.compile(r"[/\\]torch[/\\]")


def uses_of_value(frames: list[StackFrame]) -> frozenset[ValueUse]:
    """What the innermost frame's value is used for; what a function returns is followed in the frame that called it.

    ``frames``: those that Dynamo traced, outermost first."""
    found: frozenset[ValueUse] = frozenset()
    for frame in reversed(frames):
        lines = linecache.getlines(frame.place.filename)
        uses = uses_at(lines, frame.place.line, frame.expression)
        if not uses and frame is frames[-1] and not is_read(frame.expression):
            uses = uses_at(lines, frame.place.line)  # a generator reads it for a call: zip(*(x.tolist() for x in xs))
        found = (found - {ValueUse.RETURNED}) | uses
        if ValueUse.RETURNED not in uses:
            break
    return found


def is_in_loop(text: str) -> bool:
    """Whether torch could not go on after the break of a report, because a loop was running."""
    return _IN_LOOP in " ".join(text.split())


def told_later(text: str) -> tuple[str, str]:
    """(the cause in plain words, torch's reason and explanation) of a reason that torch has kept."""
    text = _ADDRESS.sub("", text.partition("Developer debug context:")[0].strip())
    reason = text.partition("\n")[0].strip()
    explanation = " ".join(_fields(text).get("Explanation", ()))
    if not reason or reason.startswith("Unknown "):
        return "torch keeps no cause of it: depyf.prepare_debug, entered before, records one", ""
    return _plain_words(reason, explanation, None), f"{reason}: {explanation}" if explanation else reason


def _reason(text: str) -> str:
    match = _REASON.search(text)
    reason = match["reason"].strip() if match else ""
    if _SKIPPED in reason or reason.startswith("Encountered graph break "):  # the real one is the paragraph after it
        rest = text[match.end() :].strip().splitlines() if match else []
        reason = rest[0].strip() if rest else reason
    reason = reason.removeprefix("Unsupported: ")  # the exception's name, before torch 2.7
    if not reason:
        reason = next((line.strip() for line in text.splitlines() if line.strip() and not _AT.match(line)), "")
    return reason


def _fields(text: str) -> dict[str, list[str]]:
    """Explanation and hints, each with its continuation lines joined."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        match = _FIELD.match(line)
        if match:
            current = found.setdefault(match["name"], [])
            current.append(match["text"].strip())
        elif current is not None and line.startswith("      ") and line.strip():
            current[-1] += " " + line.strip()
        elif line.strip():
            current = None
    return {name: list(dict.fromkeys(texts)) for name, texts in found.items()}


_NAMES = (
    ("this builtin", named_builtin, "the builtin `{}`"),
    ("this context manager", named_manager, "the context manager `{}`"),
    ("this function (a builtin", named_plain_function, "`{}` (a builtin"),
    ("excluded from compilation", skipped_because, "excluded from compilation ({})"),
)
"""What the cause says in general, where torch's explanation has a name for it, and how it is said then."""


def _by_name(cause: str, explanation: str) -> str:
    for general, named, shown in _NAMES:
        name = named(explanation) if general in cause else ""
        if name:
            return cause.replace(general, shown.format(name))
    return cause


_FOR_DEVELOPERS = (
    (re.compile(r"\. Add \w+_impl to this VariableTracker subclass\.?$"), ""),
    (re.compile(r"^The type (.+) has a \w+ C slot but the corresponding VariableTracker "
                r"doesn't implement repr_impl\.?$"),
     r"Dynamo does not know repr() of a \1"),
    (re.compile(r"^The type (.+) has an nb_(int|float) C slot but .*$"), r"Dynamo does not know \2() of a \1"),
    (re.compile(r"^The type (.+) has an nb_absolute C slot but .*$"), r"Dynamo does not know abs() of a \1"),
    (re.compile(r"^The type (.+) has an nb_(?:negative|positive) C slot but .*$"),
     r"Dynamo does not know the sign in front of a \1"),
    (re.compile(r"^The type (.+) has an sq_(?:inplace_)?repeat C slot but .*$"),
     r"Dynamo does not know how to repeat a \1 with `*`"),
    (re.compile(r"^\w+ does not implement richcompare_impl\. .*$"), "Dynamo does not know how to compare these values"),
    (re.compile(r"^\w+ wraps (.+) which has a non-default tp_hash\. .*$"), r"Dynamo does not know the hash of a \1"),
)  # fmt: skip
"""What torch's explanations say to those who write Dynamo (torch/_dynamo/variables/base.py and object_protocol.py) ->
what they say to those who use it."""


_BRANCH = "which way this branch goes depends on the values in a tensor, and those are not known while compiling"
_ASSERTED = "what is asserted here is false while compiling, or depends on the values in a tensor"
"""torch speaks of a branch in both cases."""


_ON_PURPOSE = re.compile(
    r"^Dynamo developers have intentionally marked that the function (?P<name>`[^`]+`) should not be traced"
)
_ASKED_FOR = "the program asked for a graph break here"


def _plain_words(reason: str, explanation: str, place: Place | None, of_torch: bool = False) -> str:
    """``of_torch``: the line is in code of a library."""
    on_purpose = _ON_PURPOSE.match(explanation)
    if on_purpose is not None:
        return f"torch leaves {on_purpose['name']} out of compiled code on purpose"
    low = f"{reason} {explanation}".lower()
    for written, plain in _FOR_DEVELOPERS:
        if written.search(explanation):
            return written.sub(plain, explanation)
    for part, plain in _PLAIN:
        if part in low:
            line = linecache.getline(place.filename, place.line) if place is not None and plain == _BRANCH else ""
            if plain == _ASKED_FOR and of_torch:
                return "the code called here breaks the graph on purpose"
            return _ASSERTED if line.lstrip().startswith("assert ") else _by_name(plain, explanation)
    return (explanation or reason).removesuffix(".")  # what is said of the place follows it
