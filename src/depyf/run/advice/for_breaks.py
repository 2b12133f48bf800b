"""Which advice fits a graph break, or an error.

torch's hints are read, never passed on: what torch says of a break is looked up in the table here, by its number, its
words or its hint, and a hint that is not in it is no advice.  Left out are those that were found to do nothing or harm:
``trace_autograd_ops`` (in a training step), "remove the graph_break() call" and ``dont_skip_tracing`` for what is
torch's own, "please report an issue".

Input: what a report says.  Output: the advice, the best first; () where depyf knows none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.break_text import (
    argument_kinds,
    logger_method,
    named_function,
    named_manager,
    names_optimizer,
    skips_torch,
)
from depyf.run.advice.registry import use
from depyf.run.installed_files import Owner, of_standard_library, package_of
from depyf.run.uses.known_calls import PACKS
from depyf.run.uses.use_kinds import ValueUse
from depyf.safety.unheard import parse

Uses = tuple[AdviceUse, ...]


@dataclass(frozen=True, slots=True)
class BreakFacts:
    """The facts in a report of a graph break."""

    reason: str
    explanation: str
    hints: tuple[str, ...]
    filename: str
    """Where it broke; of torch's own code or a library, too."""
    owner: Owner
    """Whose file that is."""
    line: str
    """The text of the program's line."""
    text: str
    """The whole report."""
    expression: str = ""
    """What was being evaluated in the program's line."""
    uses: Callable[[], frozenset[ValueUse]] = lambda: frozenset((ValueUse.UNKNOWN,))
    """What the value that broke the graph is used for."""
    uses_here: Callable[[], frozenset[ValueUse]] = lambda: frozenset((ValueUse.UNKNOWN,))
    """For the line that broke the graph: how it uses numbers that were read out of tensors."""
    size_question: Callable[[], str] = lambda: ""
    """The line that asks about the size of the result of the broken line, as ``m.py:7``; "" for none."""
    only_libraries: bool = False
    """Nothing of the program was being compiled: all the way to the line is torch's, or the standard library's."""
    made_by: Callable[[], frozenset[str]] = lambda: frozenset()
    """The functions whose results the line reads."""
    in_while: Callable[[], bool] = lambda: False
    """Whether the line is in a ``while`` loop."""
    number: str = ""
    """torch's number for this kind of break, ``GB0170``; "" where it has none."""
    random: str = ""
    """The function of ``random`` whose number decides the branch."""
    body_is_call: Callable[[], bool] = lambda: False
    """Whether the loop that was running does nothing but call one function."""
    waiting: str = ""
    """The method that waits in the line for what breaks the graph, and that torch cannot carry over the break."""

    @property
    def said(self) -> str:
        return f"{self.reason} {self.explanation}"


_LOGS = re.compile(r"\.(?P<method>debug|info|warning|warn|error|exception|critical|log)\(")
"""A call of a logger, in the program's line."""
_CALLED_LATER = frozenset({"TensorVariable", "ConstantVariable", "StringFormatVariable", "LazyVariableTracker"})
"""The kinds of arguments of a call that torch can make after the graph.  The last is a value that was not looked at."""
_OF_SETTINGS = frozenset(
    "isEnabledFor getEffectiveLevel hasHandlers getChild setLevel addHandler addFilter filter".split()
)
"""Methods of a logger that write nothing: the program uses what they return."""
_PLAIN_PYTHON = frozenset({
    "builtins", "time", "os", "sys", "random", "datetime", "warnings", "_warnings", "logging", "gc", "threading", "io",
    "copy", "json", "pickle", "uuid", "inspect", "tqdm", "traceback", "socket", "subprocess", "builtin",
})  # fmt: skip
"""Modules whose functions compute no tensors."""


def _function(facts: BreakFacts) -> str:
    """What broke the graph, as torch names it; as the program calls it, where only torch knows that name."""
    name = named_function(facts.said + "\n" + facts.text)
    if facts.owner is not Owner.PROGRAM or not name or _private(name):
        return _called(facts.expression) or name or "this function"
    return name


def _private(name: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def _called(expression: str) -> str:
    """What an expression calls: ``self.run`` of ``self.run(x)``."""
    try:
        node = parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _own(facts: BreakFacts) -> Uses:
    """What torch breaks on purpose: in its optimizers, so that the step is compiled apart, or in other code of its own;
    () elsewhere."""
    if names_optimizer(facts.filename, facts.said, facts.text):
        return (use("torch-own", of="optimizer"),)
    return (use("torch-own", of="torch"),) if facts.owner is Owner.TORCH else ()


def _skipped(facts: BreakFacts) -> Uses:
    if own := _own(facts):
        return own
    name = _function(facts)
    if name in ("_warnings.warn", "warnings.warn", "warn"):
        return _writes("warnings.warn", facts)
    if name.startswith("<unknown"):  # a method of a value that waits for the call: what broke before is to be seen to
        called = _called(facts.expression)
        return (use("call-outside", function=called),) if called.partition(".")[0] in _PLAIN_PYTHON else ()
    outside = use("call-outside", function=name)
    if "C/C++" in " ".join(facts.hints) and name.partition(".")[0] not in _PLAIN_PYTHON:
        return outside, use("custom-operator", function=name)
    return (outside,)


def _writes(function: str, facts: BreakFacts) -> Uses:
    """Keyword arguments are lost where torch calls it later (up to 2.14), or it does not do so (2.15).  Nor does it
    where an argument is a number that compiled code has as a symbol (``DebuggingVariable.can_reorder_logs`` of
    ``torch/_dynamo/variables/misc.py``)."""
    outside = use("write-outside", function=function)
    later = not _has_keywords(facts, function) and argument_kinds(facts.text) <= _CALLED_LATER
    return (use("reorder-output", function=function), outside) if later else (outside,)


def _has_keywords(facts: BreakFacts, function: str) -> bool:
    """Whether the call of ``function`` in the program's line has keyword arguments."""
    name = function.rpartition(".")[2]
    for text in (facts.expression, facts.line):
        try:
            tree = parse(text.strip())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        own = [call for call in calls if ast.unparse(call.func).rpartition(".")[2] == name]
        if own:
            return any(call.keywords for call in own)
    return False


def _logs(facts: BreakFacts) -> Uses:
    called = _LOGS.search(facts.line)
    method = logger_method(facts.text)
    if called is not None and (not method or facts.owner is not Owner.PROGRAM):  # the program's own call
        method = called["method"]
    function = f"logging.Logger.{method}" if method and method not in _OF_SETTINGS else ""
    outside = use("write-outside", function="the logger")
    if not function:
        return (outside,)
    return use("ignore-logging", function=function), outside


def _asked_for(facts: BreakFacts) -> Uses:
    return _own(facts) or (use("no-graph-break"),)


def _disabled(facts: BreakFacts) -> Uses:
    if own := _own(facts):
        return own
    return (use("no-disable", function=_function(facts)),)


_MASK = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]transformer\.py$")


_INDEX = frozenset((ValueUse.INDEX, ValueUse.SIZE))
_LEAVES = frozenset((ValueUse.RETURNED, ValueUse.STORED))


def _scalar(facts: BreakFacts) -> Uses:
    """A number that is read out of a tensor."""
    if _MASK.search(facts.filename):  # the number goes to an operator that must know it
        return (use("is-causal"),)
    return _by_uses(facts.uses())


def _numbers(facts: BreakFacts) -> Uses:
    """A list of numbers that cannot be symbols of the graph: floats.  Where each decides a branch, no operator chooses
    for all of them."""
    uses = facts.uses()
    if ValueUse.BRANCH in uses:
        uses = uses - {ValueUse.BRANCH} | {ValueUse.LOOP}
    return tuple(one for one in _by_uses(uses) if one.id != "capture-scalars")


def _symbol(facts: BreakFacts) -> Uses:
    """A number that is a symbol of the graph, where torch must know it."""
    return tuple(one for one in _by_uses(facts.uses_here()) if one.id not in ("capture-scalars", "unused-number"))


def _by_uses(uses: frozenset[ValueUse]) -> Uses:
    """The advice for a number that is read out of a tensor, by the uses of the number."""
    decides = [
        use(id)
        for kind, id in (
            (ValueUse.BRANCH, "branchless"),
            (ValueUse.LOOP, "loop-outside"),
            (ValueUse.KEY, "index-tensor"),
        )
        if kind in uses
    ]
    if decides:  # the graph breaks there, or torch raises an error, if the number is a symbol of the graph
        return tuple(decides)
    captured = use("capture-scalars")
    if not uses:
        return use("unused-number"), captured
    if ValueUse.CHECK in uses:
        return use("assert-tensor"), use("check-outside")
    if ValueUse.REPORT in uses:
        return (use("check-outside"),)
    if ValueUse.CONSTANT in uses:
        return (use("pass-number"),)
    if uses & _INDEX:
        return captured, use("pass-number")
    if uses == {ValueUse.LOG}:
        return (use("log-after"),)
    if ValueUse.ARITHMETIC in uses:
        return use("keep-tensor"), captured
    if uses <= {ValueUse.LOG, *_LEAVES}:
        return use("read-after" if ValueUse.RETURNED in uses else "store-tensor"), captured
    return captured, use("keep-tensor")


def _selection(facts: BreakFacts) -> Uses:
    """An operator whose result has as many elements as the values say: a mask, or one that asks which values there
    are."""
    asked = facts.size_question()  # with the size as a symbol the graph breaks there
    captured = use("no-size-question", line=asked) if asked else use("capture-dynamic-shapes")
    return (use("keep-size"), captured) if _by_mask(facts) else (captured,)


def _by_mask(facts: BreakFacts) -> bool:
    """Whether a mask selects: ``x[mask]``, ``x.masked_select(mask)``; not ``x.nonzero()``."""
    if "masked_select" in facts.said:
        return True
    if "nonzero" not in facts.said:
        return False
    for text in (facts.expression, facts.line):
        try:
            tree = parse(text.strip())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        named = {func.attr for func in calls if isinstance(func, ast.Attribute)}
        return any(isinstance(node, ast.Subscript) for node in ast.walk(tree)) and not named & _ASK_WHERE
    return False


_ASK_WHERE = frozenset(("nonzero", "argwhere", "where", "nonzero_static", "flatnonzero"))


def _branch(facts: BreakFacts) -> Uses:
    if facts.line.startswith("assert "):
        return (use("check-outside"),)
    if facts.random:
        return (use("call-outside", function=facts.random),)
    uses = facts.uses()
    if uses == {ValueUse.CHECK}:
        return use("assert-tensor"), use("check-outside")
    if uses == {ValueUse.REPORT}:
        return (use("check-outside"),)
    if ValueUse.LOOP in uses:  # while t < end
        return (use("loop-outside"),)
    return (use("branchless"),)


def _manager(facts: BreakFacts) -> Uses:
    name = named_manager(facts.explanation)
    return (use("context-outside", manager=f"`{name}`" if name else "the context manager"),)


def _builtin(facts: BreakFacts) -> Uses:
    name = _function(facts)
    return _writes("print", facts) if name == "print" else (use("call-outside", function=name),)


def _called_outside(facts: BreakFacts) -> Uses:
    return (use("call-outside", function=_function(facts)),)


def _copied(facts: BreakFacts) -> Uses:
    return (use("call-outside", function="copy.deepcopy"),)


def _rnn(facts: BreakFacts) -> Uses:
    """Torch looks into an RNN where it is asked to, but not at what was packed for it."""
    return (use("rnn-apart"),) if facts.made_by() & PACKS else (use("rnn-apart"), use("allow-rnn"))


def _waits(facts: BreakFacts) -> Uses:
    return (use("break-before", expression=facts.expression, waiting=facts.waiting),) if facts.waiting else ()


def _nothing(facts: BreakFacts) -> Uses:
    return ()


def _one(id: str) -> Callable[[BreakFacts], Uses]:
    return lambda facts: (use(id),)


_REASONS: tuple[tuple[str, Callable[[BreakFacts], Uses]], ...] = (
    ("data-dependent expression", _symbol),
    ("tolist() with non-integer", _numbers),
    ("tensor.item", _scalar),
    ("build_string type error", _one("log-after")),
    ("format string part type", _one("log-after")),
    ("capture_scalar_outputs", _scalar),
    ("capture_dynamic_output_shape_ops", _selection),
    ("data-dependent branching", _branch),
    ("data-dependent jump", _branch),
    ("generic_jump", _branch),
    ("data-dependent assertion", _one("check-outside")),
    ("builtin: print", lambda facts: _writes("print", facts)),
    ("failed to trace builtin operator", _builtin),
    ("logging.logger method", _logs),
    ("logger not supported", _logs),
    ("graph_break()", _asked_for),
    ("call_function graph_break", _asked_for),
    ("skip function graph_break", _asked_for),
    ("torch.compiler.disable", _disabled),
    ("torch._dynamo.disable", _disabled),
    ("tensor.backward() call", _one("backward-outside")),
    ("_imperativeengine", _one("backward-outside")),
    ("torch.autograd.grad", _one("gradient-outside")),
    ("call to a time function", _called_outside),
    ("marked as skipped", _skipped),
    ("'skip function", _skipped),
    ("copy.deepcopy", _copied),
    ("unsupported context manager", _manager),
    ("rnn, gru, or lstm", _rnn),
    ("torch.nn.parameter()", _one("parameter-outside")),
    ("__build_class__", _one("class-outside")),
    ("load_build_class", _one("class-outside")),
    ("functional.one_hot", _one("num-classes")),
    ("is_inference", _one("no-mode-query")),
    ("requires_grad_()", _one("detach-result")),
)
"""Of a break without a number (torch up to 2.7, and what it keeps of a break), or with one that is not below: what
torch's reason contains, in lower case -> the advice."""
_BY_NUMBER: dict[str, Callable[[BreakFacts], Uses]] = {
    "GB0007": _skipped, "GB0008": _skipped, "GB0009": _skipped, "GB0014": _rnn, "GB0021": _one("log-after"),
    "GB0025": _asked_for,
    "GB0034": _one("check-outside"), "GB0035": _branch, "GB0036": _selection, "GB0045": _one("no-mode-query"),
    "GB0046": _one("no-mode-query"), "GB0059": _builtin, "GB0075": _one("class-outside"), "GB0092": _waits,
    "GB0098": _disabled, "GB0099": _disabled, "GB0109": _numbers, "GB0123": _one("backward-outside"), "GB0124": _scalar,
    "GB0125": _one("detach-result"), "GB0142": _manager, "GB0165": _one("backward-outside"),
    "GB0166": _one("backward-outside"), "GB0170": _branch, "GB0179": _copied, "GB0226": _one("parameter-outside"),
    "GB0244": _one("parameter-outside"), "GB0246": _one("num-classes"), "GB0264": _one("parameter-outside"),
    "GB0291": _logs, "GB4198": _copied, "GB7324": _one("detach-result"), "GB8977": _one("class-outside"),
    "GB8985": _one("detach-result"), "GB9186": _one("gradient-outside"),
}  # fmt: skip
"""torch's number (``torch/_dynamo/graph_break_registry.json``) -> the advice.  A number stays what its words become."""
_DELAYED = "(delayed)"
"""torch found the reason where the value came from, and breaks the graph where it is called (2.15)."""
_IN_MANAGER = "in an active context manager"
_BY_HINT = ("capture_scalar_outputs", "capture_dynamic_output_shape_ops")
"""Hints that say more than the reason they come with."""


def is_asked_for(reason: str) -> bool:
    """Whether torch's reason of a break says that the program asked for it."""
    return next((make for part, make in _REASONS if part in reason.lower()), _nothing) is _asked_for


def for_break(facts: BreakFacts, in_loop: bool = False) -> Uses:
    """The advice on one graph break; ``in_loop``: torch could not go on after it, because a loop was running."""
    delayed = facts.explanation.partition(" Reason: ")[2] if _DELAYED in facts.reason else ""
    hinted = [name for name in _BY_HINT if any(name in hint for hint in facts.hints)]
    said = " ".join([facts.reason, delayed, *hinted]).lower()
    of_number = _BY_NUMBER.get(facts.number) if not delayed else None
    make = of_number or next((make for part, make in _REASONS if part in said), _nothing)
    found = make(facts)
    if _IN_MANAGER in facts.explanation:  # the whole function runs as Python
        found = (*_manager(facts), *found)
    if in_loop and use("capture-scalars") in found and facts.in_while():  # how often it goes round is a value, too
        found = (use("loop-outside"),)
    if in_loop and not facts.body_is_call():  # torch compiles what is called in a loop that it leaves to Python
        found = (*found, use("loop-body"))
    return found if facts.owner is Owner.PROGRAM or make is _symbol else _not_edited(facts, found)


IN_LINE = frozenset(
    "keep-tensor branchless check-outside pass-number index-tensor loop-outside assert-tensor log-after read-after "
    "store-tensor unused-number keep-size no-size-question write-outside no-graph-break no-disable loop-body "
    "custom-operator context-outside parameter-outside class-outside no-mode-query detach-result num-classes "
    "call-outside break-before".split()
)
"""Advice to edit the line that broke the graph, or a function that the line calls."""


_OF_A_WRITE = frozenset(("write-outside", "log-after"))


def _not_edited(facts: BreakFacts, found: Uses) -> Uses:
    """The advice on a line of a library: nothing that edits the library's file.  What the program calls of the standard
    library, it can call elsewhere."""
    left = tuple(one for one in found if one.id not in IN_LINE)
    if found and facts.owner is Owner.LIBRARY and of_standard_library(facts.filename) and not facts.only_libraries:
        written = tuple(one for one in found if one.id in _OF_A_WRITE)
        called = _called(facts.expression) or _called(facts.line)
        outside = (use("call-outside", function=called),) if called else ()
        if left or written or outside:
            return (*left, *(written or outside))
    if not left and facts.only_libraries and (facts.owner is Owner.TORCH or skips_torch(facts.text)):
        return (use("torch-own", of="torch"),)
    if left or not found or facts.owner is Owner.TORCH:
        return left
    return (use("library-own", package=package_of(facts.filename)),)


def for_limit(limit: int) -> Uses:
    """The advice for a function that has as many cache entries as torch's ``recompile_limit``, ``limit``, allows."""
    return (use("raise-limit", limit=str(limit * 8)),)


_VIOLATED = re.compile(r"Constraints violated \(L\['(?P<tensor>\w+)'\][^ ,)]*\.size\(\)")


_OF_TORCH = re.compile(
    r"(?:InternalTorchDynamoError|AttributeError|TypeError|KeyError|IndexError|AssertionError|NameError"
    r"|AsPythonConstantNotImplementedError)\b"
)
"""Errors that torch does not raise on purpose."""


_OF_BACKEND = re.compile(
    r"InductorError\b|LoweringException\b|BackendCompilerFailed: backend='(?:inductor|aot_eager|cudagraphs)\w*'"
)
"""Errors of compilers that a script has again; that of the program's own backend would need the program."""


def for_failure(error: str, pinned_by: Sequence[tuple[str, int]] = (), id: str = "") -> Uses:
    """The advice on an error that torch raised into the program.  ``error``: its text; ``pinned_by``: the tensors and
    dimensions that fix a size marked dynamic; ``id``: the compile id, "" where no script can be made of its graph."""
    if "ConstraintViolationError" not in error:
        if id and _OF_BACKEND.match(error):
            return (use("repro", compile_id=id),)
        return (use("not-traced"),) if _OF_TORCH.match(error) else ()
    if pinned_by:
        return tuple(use("mark-too", tensor=tensor, dimension=str(index)) for tensor, index in pinned_by)
    found = _VIOLATED.search(error)
    return (use("maybe-mark-dynamic", tensor=found["tensor"] if found else "the tensor"),)


def for_undeclared() -> Uses:
    """The advice for an error that torch raised because a size is outside of its declared range."""
    return (use("declared-bound"),)


def for_step() -> Uses:
    """The advice for a break in ``optimizer.step()``, where the calling function calls ``backward()`` as well."""
    return (use("backward-outside"),)


def of_returned(advice: Uses) -> bool:
    """Whether ``advice`` is about a number that the function returns.  What its caller does with it is unknown."""
    return any(one.id == "read-after" for one in advice)


def of_optimizer(advice: Uses) -> bool:
    """Whether ``advice`` says that one of torch's optimizers causes the break."""
    return any(one.id == "torch-own" and one.value("of") == "optimizer" for one in advice)
