"""Advice on what to change so that one compilation serves both calls.

Input: what a guard is about, as the user would call it (``x``, ``self.scale``, ``the global MODE``), and what it wanted.
Output: a sentence; "" where depyf knows no rule.  ``why`` and the dump's recompilations both ask here.
"""

from __future__ import annotations

import linecache
import re

from depyf.dump.records import Place

_SOURCE = re.compile(r"[\w.'\"\[\]]+")
"""A variable, its attributes and items: no operation on them."""
_INT = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?[\d.]+(?:e[+-]?\d+)?|-?inf|nan")


def named(source: str) -> str:
    """``L['self'].k`` -> ``self.k``; ``G['MODE']`` -> ``the global MODE``; methods such as ``.size()`` are cut."""
    text = re.sub(r"\.(?:size|stride|storage_offset)$", "", source)
    text = re.sub(r"\._(?:modules|parameters|buffers)\['(\w+)'\]", r".\1", text)
    if text.startswith("len(") and text.endswith(")"):
        return f"len({named(text[4:-1])})"
    match = re.match(r"([LG])\['(\w+)'\](.*)$", text, re.S)
    if match is None:
        return text
    return f"{match[2]}{match[3]}" if match[1] == "L" else f"the global {match[2]}{match[3]}"


def root(source: str) -> str:
    """The variable that a source begins with: ``x`` of ``L['x'].size()[0]``; "" where it begins with none."""
    match = re.match(r"(?:len\()?(?:L\['(\w+)'\]|(\w+))", source)
    return (match[1] or match[2]) if match and not source.startswith("G[") else ""


def for_tensor(source: str, what: str, index: str = "", inner: bool = False, small: bool = False) -> str:
    """A property of a tensor differs: ``what`` is ``size``, ``stride``, ``rank``, ``dtype``, ``requires_grad``, ...

    ``inner``: it is no argument, but what the part of the function before a graph break has computed; ``small``:
    one of the sizes is 0 or 1.
    """
    name = named(source)
    if what == "size" and index:
        if small:
            return for_small_size()
        if inner:
            return f"torch.compile(dynamic=True), or torch._dynamo.mark_dynamic for the input that the size of {name} comes from"
        return f"torch._dynamo.mark_dynamic({name}, {index}) before the first call, or torch.compile(dynamic=True)"
    if what == "stride":
        return f"pass {name}.contiguous(), or tensors of one memory layout"
    if what in ("rank", "dimensions"):
        return f"give {name} the same number of dimensions in every call (one entry per rank is needed)"
    if what == "type":
        return f"give {name} the same type in every call (one entry per type is needed, and one for None)"
    if what == "dtype":
        return f"convert {name} to one dtype before the call (one entry per dtype is needed)"
    if what == "requires_grad":
        return (
            f"pass {name} with the same requires_grad in every call: detach it, or set it "
            "(forward only and training are compiled apart)"
        )
    if what == INFERENCE:
        return (
            f"pass as {name} only tensors made under torch.inference_mode(), or none "
            "(torch.no_grad() makes ordinary ones)"
        )
    return f"give {name} the same {what} in every call"


INFERENCE = "inference mode"


def kind_of_keys(differing: set[str]) -> str:
    """What two tensors differ in whose dispatch keys differ in these."""
    if any(key.startswith(("ADInplaceOrView", "Autograd")) for key in differing):  # inference tensors lack them
        return INFERENCE
    return "kind of tensor (device, layout, subclass)"


def for_small_size() -> str:
    return "sizes 0 and 1 are always compiled separately; pad the input, or torch._dynamo.decorators.mark_unbacked"


OF_THAT_NAME = " (another class of that name)"
"""What is said of a class that is not the expected one and has its name."""


def for_type(source: str, expected: str, actual: str) -> str:
    """A value is of another class than the ``expected`` one."""
    name = named(source)
    if actual.removesuffix(OF_THAT_NAME) == expected:
        return f"the class of {name} is made anew (by a function that runs again): one entry per class is needed"
    if not actual:
        return f"let {name} be {_one(expected)} in every call"
    return f"let {name} be {_one(expected)} in every call, or {_one(actual)} in every call"


def _one(kind: str) -> str:
    return "None" if kind == "NoneType" else f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def for_specialised(name: str, where: Place) -> str:
    """``name`` began as a symbol, and the line ``where`` needed its value."""
    text = where.text or linecache.getline(where.filename, where.line).strip()
    line = f"{where.filename}:{where.line}" + (f" `{text}`" if text else "")
    return f"{name} cannot stay dynamic, because its value is needed while compiling: one entry per value, as long as {line} is compiled"


def for_class_of_tensor(source: str) -> str:
    """A tensor came as an object of another class than it was compiled for, or something else in its place."""
    return f"give {named(source)} the same class in every call (a Parameter and a Tensor are compiled apart)"


def for_unrolled(source: str) -> str:
    """Several entries want one value each of the number ``source``."""
    return (
        f"{named(source)} did not become dynamic when it changed: its value is needed while compiling (to unroll a loop, for "
        "a shape), or dynamic=False was asked for; one entry per value"
    )


def for_condition() -> str:
    return "what the program asks about this value became a condition of the compiled code: one entry for calls that meet it, one for others"


def for_optimizer() -> str:
    """The state that an optimizer keeps of its parameters differs."""
    return (
        "an optimizer makes the state of a parameter in its first step: one entry for the first step and one for those after it "
        "is needed"
    )


_PASSED = {"len(args)": "as many positional arguments", "len(kwargs)": "the same keyword arguments"}
"""What a call was given beyond the parameters that have names of their own."""


def for_value(source: str, expected: str, of_module: bool = False, inner: bool = False) -> str:
    """A plain Python value differs from ``expected``; ``of_module``: it is an attribute of an ``nn.Module``."""
    name = named(source)
    if name in _PASSED:
        return f"pass {_PASSED[name]} in every call (one entry for each way to call it is needed)"
    if name.startswith("len("):
        return f"keep {name} the same between calls; what grows with the calls is better kept outside of the compiled function"
    if "dict.keys(" in source:
        return "pass a dictionary with the same keys, in the same order, in every call"
    if re.fullmatch(rf"{_SOURCE.pattern}\.size\(\)\[\d+\]", source):
        return for_small_size() if expected in (">= 2", "> 1", "!= 0", "!= 1") else for_condition()
    if not _SOURCE.fullmatch(source):
        return for_condition()
    if name.endswith(".training") and expected in ("True", "False"):
        return "one entry for train() and one for eval() is needed"
    if _INT.fullmatch(expected):
        if source.startswith("G["):  # dynamic=True makes no symbols of globals, nor of what is reached through them
            return f"{name} is a constant of the compiled code: pass it as an argument, or make it a tensor"
        if of_module:
            return (
                f"{name} is a constant of the compiled code: torch._dynamo.config.allow_unspec_int_on_nn_module = True"
            )
        again = "" if inner else ", or pass it as a tensor"
        return (
            f"{name} is a constant of the compiled code: torch.compile(dynamic=True){again} "
            "(by default torch makes a number dynamic when it is compiled for the second time)"
        )
    if _FLOAT.fullmatch(expected):
        return f"{name} is a constant of the compiled code: pass it as a tensor (torch.tensor(...))"
    if expected == "None":
        return f"one entry for calls without {name} and one for those with it is needed"
    if expected in ("True", "False"):
        return f"one entry per value of {name} is needed; keep it the same where the speed matters"
    return f"keep {name} the same between calls, or move what depends on it out of the compiled function"


_KINDS = (
    (("BACKEND_MATCH",), "call torch.compile once for the function and keep what it returns: entries are for one backend= and one dynamic=. In tests, torch._dynamo.reset() lets go of what earlier ones compiled"),
    (("Duplicate tensor", "no_tensor_aliasing", "check_no_aliasing"), "pass distinct tensors, or the same one twice, but not now this and now that"),
    (("got deallocated",), "the entry was for one object, and went with it: pass the same object in every call. A bound method that waits for its arguments at a graph break is a new object in each call: compute what breaks the graph in a statement of its own before"),
    (("unexpected recompilation",), "asked again, this entry fits: another thread had just compiled it (make one call before the threads start), or what its guards read has changed since"),
    (("KeyError on",), "let it be there in every call, or in none"),
    (("no_dynamic_marks(", "marks_within("), "mark the tensors of every call alike, from the first call on"),
    (("mode_stack",), "make every call under the same modes: torch.device as a context, torch.set_default_device, a TorchFunctionMode"),
    (("type_id", "type_is("), "pass an object of the same type"),
    ((".__code__, 'code')",), "it is another function now: one entry per function is needed. A lambda or a closure made anew is the same one as long as its code is"),
    (("obj_id", "same_object("), "one entry per object is needed; keep it the same where the speed matters"),
    (("len(", "same_items("), "keep the length the same between calls"),
)  # fmt: skip
"""What a guard's text contains -> the sentence."""


_GLOBAL = (
    ("grad_mode", "the same torch.no_grad() / torch.enable_grad()"),
    ("autocast", "the same torch.autocast"),
    ("default_dtype", "the same torch.set_default_dtype"),
    ("deterministic", "the same torch.use_deterministic_algorithms"),
    ("num_threads", "the same torch.set_num_threads"),
    ("torch_function", "the same setting of torch functions"),
)
"""A part of torch's global state -> what sets it."""


def for_global_state(guard: str) -> str:
    """torch's global state differs; ``guard`` says in what, where torch does."""
    found = [setting for part, setting in _GLOBAL if part in guard]
    return (
        f"make every call under {' and '.join(found)}"
        if found
        else "call it under the same grad mode, autocast and default dtype"
    )


def for_kind(guard: str) -> str:
    """By the kind of guard alone; "" where that says too little."""
    if re.match(r"GLOBAL_STATE changed|check_global_state\(|grad_mode", guard):
        return for_global_state(guard)
    return next((text for parts, text in _KINDS if any(part.lower() in guard.lower() for part in parts)), "")
