"""What torch's report of a graph break names: functions, operators, context managers, loggers.

Input: the parts of a report (``torch/_dynamo/exc.py``, ``unimplemented``).  Output: a name, "" where the text has none.
The forms of these texts are known here, and nowhere else.
"""

from __future__ import annotations

import re

_BUILTIN = re.compile(r"builtin operator `(?P<name>[^`]+)`")
_MANAGER = re.compile(r"enter a `(?P<name>[^`]+)` context manager")
_FUNCTIONS = (
    _BUILTIN,
    re.compile(r"function:? `(?P<name>(?:<unknown module>)?[\w.]+?)\.?`"),
    re.compile(r"<(?:built-in )?(?:function|method|bound method) (?P<name>[\w.<>]*\w)"),
    re.compile(r"builtin:? `(?P<name>[^`]+?)\.?`"),
)
_PLAIN = re.compile(r"(?:builtin|function) `(?P<name>[\w.]+?)\.?`")
_BECAUSE = re.compile(r"\(reason: (?P<why>(?!None\)).+)\)")
_ARGUMENTS = re.compile(r"\bbuiltin:? \w+ \[(?P<kinds>[^\]\n]*)\]")
_KIND = re.compile(r"<class '(?:\w+\.)*(?P<name>\w+)'>")
_METHOD = re.compile(r"\bcall_method \w+\(.*?\) (?P<name>\w+)")
_OPERATORS = (
    re.compile(r"\bUnsupported (?P<name>[Tt]ensor\.\w+)"),
    _BUILTIN,
    re.compile(r"^builtin (?P<name>\w+)\b"),
    re.compile(r"(?:builtin|function|method|class|context manager|operator) `(?P<name>[^`]+?)\.?`"),
    _MANAGER,
    re.compile(r"[Cc]all(?:ed)? (?:to )?`(?P<name>[^`(]+)"),
    re.compile(r"\b(?P<name>aten\.\w+)\."),
)
_REPR = re.compile(r"<(?:function|built-in function|bound method|class) '?(?P<name>[\w.<>]*\w)'?(?: of .*)?>", re.S)
"""What Python shows of a function or a class, without its address."""
_LOGGED = re.compile(r"context: method: .*\.(?P<name>\w+), args: ")
_LOCALS = "<locals>."
_CODE = re.compile(r"\b(gb\d{3,5})\.html")
_OPTIMIZER = re.compile(r"[/\\]torch[/\\]optim[/\\]|\bmodule: torch\.optim\b|`(?:\w+\.)*Optimizer\.\w+`")
"""A file or a module of torch's optimizers, or a method of their class."""
_INPUTS = re.compile(
    r"^ *# File \".*\", line \d+, in .*, code: (?P<code>.*)\n *\w+: graph input \((?P<name>\w+)\)$", re.M
)
"""Of a branch: an input from which its condition is computed, with the line that has it (torch 2.15)."""
_RANDOM = "random_value_"
"""The inputs of a graph that are random numbers of Python (``torch/_dynamo/source.py``, ``RandomValueSource``)."""
_DRAWN = re.compile(r"(?P<name>\b(?:[A-Za-z_]\w*\.)*(?:random|randint|randrange|uniform))\(")
"""A call of a function of ``random`` that Dynamo makes an input of."""
_LEFT_BEHIND = re.compile(r"\bsourceless variable UserMethodVariable\(<function (?P<name>[\w.<>]+)>")
_TORCH_MODULE = re.compile(r"^  Developer debug context: module: torch\b", re.M)


def break_number(report: str) -> str:
    """torch's number for this kind of break, ``GB0170``."""
    match = _CODE.search(report)
    return match[1].upper() if match is not None else ""


def named_function(report: str) -> str:
    """The function that Dynamo does not look into, by torch's name; "" for none."""
    found = next((match for pattern in _FUNCTIONS if (match := pattern.search(report))), None)
    return found["name"].rpartition(f".{_LOCALS}")[2] if found is not None else ""


def argument_kinds(report: str) -> frozenset[str]:
    """The classes by which Dynamo knows the arguments of the builtin function that it does not trace."""
    match = _ARGUMENTS.search(report)
    return frozenset(_KIND.findall(match["kinds"])) if match is not None else frozenset()


def named_plain_function(report: str) -> str:
    """The function that Dynamo does not look into, where the report has its name in backquotes only; else ""."""
    match = _PLAIN.search(report)
    return match["name"] if match is not None else ""


def skipped_because(report: str) -> str:
    """The reason that the report has for not looking into a function; "" for none."""
    match = _BECAUSE.search(report)
    return match["why"] if match is not None else ""


def named_builtin(report: str) -> str:
    """The builtin operator that the report names; "" for none."""
    match = _BUILTIN.search(report)
    return match["name"] if match is not None else ""


def named_manager(report: str) -> str:
    """The context manager in which the graph breaks; "" for none."""
    match = _MANAGER.search(report)
    return match["name"] if match is not None else ""


def logger_method(report: str) -> str:
    """The logger method that was called; "" for none."""
    match = _LOGGED.search(report)
    return match["name"] if match is not None else ""


def asked_by(reason: str, explanation: str, context: str) -> str:
    """The operator or tensor method that caused the break; "" for none."""
    method = _METHOD.search(context)
    if method is not None and "Tensor" in context[: method.end()]:
        return f"Tensor.{method['name']}"
    for pattern in _OPERATORS:
        for text in (reason, explanation, context):
            found = pattern.search(text)
            if found is not None:
                shown = _REPR.fullmatch(found["name"])
                return shown["name"].rpartition(_LOCALS)[2] if shown is not None else found["name"]
    return ""


def deciding_random(report: str) -> str:
    """The function of ``random`` whose result alone decides a branch, by the program's name; "" for none."""
    inputs = list(_INPUTS.finditer(report))
    drawn = _DRAWN.search(inputs[0]["code"]) if inputs else None
    alone = all(one["name"].startswith(_RANDOM) for one in inputs)
    return drawn["name"] if drawn is not None and alone else ""


def method_left_behind(explanation: str) -> str:
    """The method of an object made while compiling that Dynamo has no code for to make it again; "" for another
    value."""
    match = _LEFT_BEHIND.search(explanation)
    return match["name"].rpartition(".")[2] if match is not None else ""


def names_optimizer(filename: str, said: str, report: str) -> bool:
    """Whether the graph breaks in one of torch's optimizers, or at a method of one.  ``said``: torch's reason and
    explanation."""
    context = report.partition("User code traceback:")[0].partition("Stack variable source attribution:")[0]
    return _OPTIMIZER.search(f"{filename} {said} {context}") is not None


def skips_torch(report: str) -> bool:
    """Whether the function that Dynamo does not look into is torch's."""
    return _TORCH_MODULE.search(report) is not None
