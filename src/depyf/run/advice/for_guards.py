"""Which advice fits a guard that did not hold.

Input: what the guard is about, by torch's name, and what it wanted.  Output: the advice, the best first; () where depyf
knows no rule.  ``why`` and the dump's recompilations both ask here.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import use
from depyf.run.advice.source_names import in_module, is_global, named, passed
from depyf.run.installed_files import library_file
from depyf.run.records import Place

Uses = tuple[AdviceUse, ...]

_SOURCE = re.compile(r"[\w.'\"\[\]]+")
"""A variable, its attributes and items: no operation on them."""
_INT = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?[\d.]+(?:e[+-]?\d+)?|-?inf|nan")
INFERENCE = "inference mode"


def for_tensor(source: str, what: str, index: str = "", inner: bool = False, small: bool = False) -> Uses:
    """A property of a tensor differs: ``what`` is ``size``, ``stride``, ``rank``, ``dtype``, ``requires_grad``, ...

    ``inner``: it is no argument, but what the part of the function before a graph break has computed; ``small``:
    one of the sizes is 0 or 1.
    """
    name = named(source)
    if what == "size" and index:
        return _for_size(source, index, inner, small)
    if what == "stride":
        return (use("contiguous", tensor=name),)
    if what in ("rank", "dimensions"):
        return (use("one-rank", tensor=name),)
    if what == "dtype":
        return (use("one-dtype", tensor=name),)
    if what == "requires_grad":
        return (use("one-requires-grad", tensor=name),)
    if what == INFERENCE:
        return (use("no-inference-tensors", tensor=name),)
    return (use("one-kind-of-tensor", tensor=name, what=what),)


def _for_size(source: str, index: str, inner: bool, small: bool) -> Uses:
    if in_module(source):
        return (use("dynamic-parameters", tensor=named(source)),)
    if small:
        return for_small_size(source, index, inner)
    dynamic = use("compile-dynamic")
    tensor = "" if inner else passed(source)
    return (use("mark-dynamic", tensor=tensor, dimension=index), dynamic) if tensor else (dynamic,)


def for_small_size(source: str, index: str, inner: bool = False) -> Uses:
    """A size is 0 or 1 in some calls."""
    pad = use("pad-size", tensor=named(source), dimension=index)
    tensor = "" if inner else passed(source)
    return (pad, use("mark-unbacked", tensor=tensor, dimension=index)) if tensor else (pad,)


def kind_of_keys(differing: set[str]) -> str:
    """What two tensors differ in whose dispatch keys differ in these."""
    if any(key.startswith(("ADInplaceOrView", "Autograd")) for key in differing):  # inference tensors lack them
        return INFERENCE
    return "kind of tensor (device, layout, subclass)"


OF_THAT_NAME = " (another class of that name)"
"""What is said of a class that is not the expected one and has its name."""


def for_type(source: str, expected: str, actual: str) -> Uses:
    """A value is of another class than the ``expected`` one."""
    name = named(source)
    if "NoneType" in (expected, actual):
        return (use("with-and-without", name=name),)
    if actual.removesuffix(OF_THAT_NAME) == expected:
        return (use("class-made-once", name=name),)
    if name == "self":
        return (use("class-of-self", name=name),)
    otherwise = f", or {_one(actual)} in every call" if actual else ""
    return (use("one-class", name=name, expected=_one(expected), otherwise=otherwise),)


def _one(kind: str) -> str:
    return f"an {kind}" if kind[:1].lower() in "aeiou" else f"a {kind}"


def for_specialised(name: str, where: Place) -> Uses:
    """``name`` began as a symbol, and the line ``where`` needed its value."""
    text = where.text or linecache.getline(where.filename, where.line).strip()
    line = f"{library_file(where.filename)}:{where.line}" + (f" `{text}`" if text else "")
    return (use("needed-value", name=name, line=line),)


def for_class_of_tensor(source: str) -> Uses:
    """A tensor came as an object of another class than it was compiled for, or something else in its place."""
    return (use("parameter-or-tensor", tensor=named(source)),)


def for_unrolled(source: str) -> Uses:
    """Several entries want one value each of the number ``source``."""
    return (use("fixed-value", name=named(source)),)


def for_number_operand(name: str) -> Uses:
    """An operator takes the float ``name`` as a Python number: a tensor in its place would be an input."""
    return (use("tensor-in-module" if "." in name else "number-as-tensor", name=name),)


def for_condition() -> Uses:
    """The guard is no equality: it is a condition that the program asks about."""
    return (use("condition"),)


def for_optimizer() -> Uses:
    """The state that an optimizer keeps of its parameters differs."""
    return (use("optimizer-state"),)


_PASSED = {"len(args)": "as many positional arguments", "len(kwargs)": "the same keyword arguments"}
"""The arguments of a call beyond the named parameters."""
_SIZE = re.compile(rf"(?P<tensor>{_SOURCE.pattern})\.size\(\)\[(?P<index>\d+)\]")


def for_value(source: str, expected: str, of_module: bool = False, inner: bool = False) -> Uses:
    """A plain Python value differs from ``expected``; ``of_module``: it is an attribute of an ``nn.Module``."""
    name = named(source)
    if name in _PASSED:
        return (use("same-arguments", what=_PASSED[name]),)
    if name.startswith("len("):
        return (use("one-length", name=name),)
    if "dict.keys(" in source:
        return (use("same-keys"),)
    size = _SIZE.fullmatch(source)
    if size:
        small = expected in (">= 2", "> 1", "!= 0", "!= 1")
        return for_small_size(size["tensor"], size["index"], inner) if small else for_condition()
    if not _SOURCE.fullmatch(source):
        return for_condition()
    if name.endswith(".training") and expected in ("True", "False"):
        return (use("train-and-eval"),)
    if expected == "None":
        return (use("with-and-without", name=name),)
    if expected in ("True", "False"):
        return (use("one-flag", name=name),)
    number = _INT.fullmatch(expected) or _FLOAT.fullmatch(expected)
    return (
        _for_number(source, bool(_INT.fullmatch(expected)), of_module, inner)
        if number
        else (use("one-value", name=name),)
    )


def _for_number(source: str, whole: bool, of_module: bool, inner: bool) -> Uses:
    name = named(source)
    if is_global(source):  # dynamic=True makes no symbols of globals, nor of what is reached through them
        return (use("global-as-argument", name=name),)
    if ".param_groups[" in source:
        return (use("tensor-learning-rate", name=name),)
    if of_module:
        kept = use("tensor-in-module", name=name)
        return (use("unspecialised-int", name=name), kept) if whole else (kept,)
    dynamic = use("compile-dynamic")
    return (dynamic,) if inner else (dynamic, use("number-as-tensor", name=name))


_KINDS = (
    (("BACKEND_MATCH",), "compile-once"),
    (("Duplicate tensor", "no_tensor_aliasing", "check_no_aliasing"), "distinct-tensors"),
    (("got deallocated",), "keep-the-object"),
    (("unexpected recompilation",), "call-before-threads"),
    (("KeyError on",), "always-there"),
    (("no_dynamic_marks(", "marks_within(", "_dynamo_dim_marking", "_indices not a subset"), "mark-alike"),
    (("mode_stack",), "one-mode"),
    ((".__code__, 'code')",), "one-function"),
    (("obj_id", "same_object(", "type_id", "type_is("), "one-object"),
)
"""What a guard's text contains -> the advice, which needs no values."""


_GRAD = "the same torch.no_grad() / torch.enable_grad()"
_GLOBAL = (
    ("grad_mode", _GRAD),
    ("autocast", "the same torch.autocast"),
    ("default_dtype", "the same torch.set_default_dtype"),
    ("deterministic", "the same torch.use_deterministic_algorithms"),
    ("num_threads", "the same torch.set_num_threads"),
    ("torch_function", "the same setting of torch functions"),
)
"""A part of torch's global state -> what sets it."""


def for_global_state(guard: str) -> Uses:
    """torch's global state differs; ``guard`` says in what, where torch does."""
    if _settings(guard) == [_GRAD]:
        return (use("with-and-without-gradients"),)
    return (use("one-global-state", settings=settings_of(guard)),)


def settings_of(guard: str) -> str:
    """What sets the parts of torch's global state that ``guard`` names."""
    return " and ".join(_settings(guard)) or "the same grad mode, autocast and default dtype"


def _settings(guard: str) -> list[str]:
    return [setting for part, setting in _GLOBAL if part in guard]


MEMBER = re.compile(r"(?P<key>'[^']*') (?:not )?in (?P<container>[\w.'\"\[\]]+)")
"""A guard on whether a dictionary has a key."""


EQUAL_SIZES = re.compile(r"(?P<one>.+)\.size\(\)\[(?P<i>\d+)\] == (?P<other>.+)\.size\(\)\[(?P<j>\d+)\]")
"""A guard that two sizes are equal."""


def equal_sizes(guard: str, shown: Callable[[str], str] = str) -> str:
    """``sizes 0 and 1 of x``, ``size 0 of x and size 1 of y``; "" for another guard.  ``shown`` writes a tensor's name."""
    match = EQUAL_SIZES.fullmatch(guard)
    if match is None:
        return ""
    (one, i), (other, j) = sorted(((named(match["one"]), match["i"]), (named(match["other"]), match["j"])))
    if one == other:
        return f"sizes {i} and {j} of {shown(one)}"
    return f"size {i} of {shown(one)} and size {j} of {shown(other)}"


def for_kind(guard: str) -> Uses:
    """By the kind of guard alone; () where that says too little."""
    if sizes := equal_sizes(guard):
        return (use("unequal-sizes", sizes=sizes),)
    if re.match(r"GLOBAL_STATE changed|check_global_state\(|grad_mode", guard):
        return for_global_state(guard)
    if MEMBER.fullmatch(guard):
        return (use("always-there"),)
    low = guard.lower()
    found = next((id for parts, id in _KINDS if any(part.lower() in low for part in parts)), None)
    if found is not None:
        return (use(found),)
    return (use("one-length", name="the length"),) if "len(" in low or "same_items(" in low else ()
