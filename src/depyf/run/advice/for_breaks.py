"""Which advice fits a graph break, or an error.

torch's hints are read, never passed on: what torch says of a break is looked up in the table here, by its number, its
words or its hint, and a hint that is not in it is no advice.  Left out are those that were found to do nothing or harm:
``trace_autograd_ops`` (in a training step), "remove the graph_break() call" and ``dont_skip_tracing`` for what is
torch's own, "please report an issue".

Input: what a report says.  Output: the advice, the best first; () where depyf knows none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import use

Uses = tuple[AdviceUse, ...]


@dataclass(frozen=True, slots=True)
class BreakFacts:
    """What a report of a graph break says."""

    reason: str
    explanation: str
    hints: tuple[str, ...]
    filename: str
    """Where it broke; of torch's own code or a library, too."""
    of_library: bool
    line: str
    """The text of the program's line."""
    text: str
    """The whole report."""

    @property
    def said(self) -> str:
        return f"{self.reason} {self.explanation}"


_NAMES = (
    re.compile(r"builtin operator `(?P<name>[^`]+)`"),
    re.compile(r"function:? `(?P<name>(?:<unknown module>)?[\w.]+?)\.?`"),
    re.compile(r"<(?:built-in )?(?:function|method|bound method) (?P<name>[\w.<>]*\w)"),
    re.compile(r"builtin:? `(?P<name>[^`]+?)\.?`"),
)
_MANAGER = re.compile(r"enter a `(?P<name>[^`]+)` context manager")
_LOGGED = (
    re.compile(r"context: method: .*\.(?P<method>\w+), args: "),
    re.compile(r"\.(?P<method>debug|info|warning|warn|error|exception|critical|log)\("),
)
"""The method of a logger, in what torch says to its developers, and in the program's line."""
_PLAIN_PYTHON = frozenset({
    "builtins", "time", "os", "sys", "random", "datetime", "warnings", "_warnings", "logging", "gc", "threading", "io",
    "copy", "json", "pickle", "uuid", "inspect", "tqdm", "traceback", "socket", "subprocess", "builtin",
})  # fmt: skip
"""Modules whose functions compute no tensors."""


def _function(facts: BreakFacts) -> str:
    found = next((match for pattern in _NAMES if (match := pattern.search(facts.said + "\n" + facts.text))), None)
    return found["name"].rpartition(".<locals>.")[2] if found else "this function"


OPTIMIZER = re.compile(r"[/\\]torch[/\\]optim[/\\]")
"""In the path of an optimizer of torch's own.  It breaks the graph on purpose, so that its step is compiled apart."""


def _of_optimizer(facts: BreakFacts) -> bool:
    """Whether it broke in an optimizer of torch, or at a method of one."""
    inside = OPTIMIZER.search(facts.filename) is not None
    return inside or re.search(r"`(?:\w+\.)*Optimizer\.\w+`", facts.said) is not None


def _skipped(facts: BreakFacts) -> Uses:
    if _of_optimizer(facts):
        return (use("backward-outside"),)
    name = _function(facts)
    if name in ("_warnings.warn", "warnings.warn", "warn"):
        return _writes("warnings.warn")
    if name.startswith("<unknown"):  # a method of a value that waits for the call: what broke before is to be seen to
        return ()
    outside = use("call-outside", function=name)
    if "C/C++" in " ".join(facts.hints) and name.partition(".")[0] not in _PLAIN_PYTHON:
        return outside, use("custom-operator", function=name)
    return (outside,)


def _writes(function: str) -> Uses:
    return use("reorder-output", function=function), use("write-outside", function=function)


def _logs(facts: BreakFacts) -> Uses:
    found = _LOGGED[0].search(facts.text) or _LOGGED[1].search(facts.line)
    function = f"logging.Logger.{found['method']}" if found else ""
    outside = use("write-outside", function="the logger")
    if not function:
        return (outside,)
    return use("ignore-logging", function=function), outside


def _asked_for(facts: BreakFacts) -> Uses:
    return () if facts.of_library else (use("no-graph-break"),)


def _disabled(facts: BreakFacts) -> Uses:
    if _of_optimizer(facts):
        return (use("backward-outside"),)
    return (use("no-disable", function=_function(facts)),)


_MASK = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]transformer\.py$")


def _scalar(facts: BreakFacts) -> Uses:
    if _MASK.search(facts.filename):  # the number goes to an operator that must know it
        return (use("is-causal"),)
    return use("capture-scalars"), use("keep-tensor")


def _branch(facts: BreakFacts) -> Uses:
    return (use("check-outside" if facts.line.startswith("assert ") else "branchless"),)


def _manager(facts: BreakFacts) -> Uses:
    found = _MANAGER.search(facts.explanation)
    return (use("context-outside", manager=f"`{found['name']}`" if found else "the context manager"),)


def _builtin(facts: BreakFacts) -> Uses:
    name = _function(facts)
    return _writes("print") if name == "print" else (use("call-outside", function=name),)


def _one(id: str) -> Callable[[BreakFacts], Uses]:
    return lambda facts: (use(id),)


_REASONS: tuple[tuple[str, Callable[[BreakFacts], Uses]], ...] = (
    ("tensor.item", _scalar),
    ("capture_scalar_outputs", _scalar),
    ("capture_dynamic_output_shape_ops", _one("capture-dynamic-shapes")),
    ("data-dependent branching", _branch),
    ("data-dependent jump", _branch),
    ("generic_jump", _branch),
    ("data-dependent assertion", _one("check-outside")),
    ("builtin: print", lambda facts: _writes("print")),
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
    ("marked as skipped", _skipped),
    ("'skip function", _skipped),
    ("copy.deepcopy", lambda facts: (use("call-outside", function="copy.deepcopy"),)),
    ("unsupported context manager", _manager),
    ("rnn, gru, or lstm", _one("allow-rnn")),
    ("torch.nn.parameter()", _one("parameter-outside")),
    ("__build_class__", _one("class-outside")),
    ("load_build_class", _one("class-outside")),
    ("functional.one_hot", _one("num-classes")),
    ("is_inference", _one("no-mode-query")),
    ("requires_grad_()", _one("detach-result")),
)
"""What torch's reason contains, in lower case -> the advice."""
_BY_HINT = ("capture_scalar_outputs", "capture_dynamic_output_shape_ops")
"""Hints that say more than the reason they come with."""


def for_break(facts: BreakFacts, in_loop: bool = False) -> Uses:
    """The advice on one graph break; ``in_loop``: torch could not go on after it, because a loop was running."""
    hinted = [name for name in _BY_HINT if any(name in hint for hint in facts.hints)]
    said = " ".join([facts.reason, *hinted]).lower()
    found = next((make(facts) for part, make in _REASONS if part in said), ())
    return (*found, use("loop-body")) if in_loop else found


def for_limit(limit: int) -> Uses:
    """A function that has as many entries as ``limit`` allows."""
    return (use("raise-limit", limit=str(limit * 8)),)


_VIOLATED = re.compile(r"Constraints violated \(L\['(?P<tensor>\w+)'\][^ ,)]*\.size\(\)")


_OF_TORCH = re.compile(
    r"(?:InternalTorchDynamoError|AttributeError|TypeError|KeyError|IndexError|AssertionError|NameError)\b"
)
"""Errors that torch does not raise on purpose."""


def for_failure(error: str) -> Uses:
    """The advice on an error that torch raised into the program; ``error`` is its text."""
    if "ConstraintViolationError" not in error:
        return (use("not-traced"),) if _OF_TORCH.match(error) else ()
    found = _VIOLATED.search(error)
    return (use("maybe-mark-dynamic", tensor=found["tensor"] if found else "the tensor"),)


def for_step() -> Uses:
    """A break in an optimizer that is called by a function which calls backward(), too."""
    return (use("backward-outside"),)
