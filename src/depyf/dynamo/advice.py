"""What to change so that one compilation serves both calls.

Input: what a guard is about, as the user would call it (``x``, ``self.scale``, ``the global MODE``), and what it wanted.
Output: a sentence; "" where depyf knows no rule.  ``why`` and the dump's recompilations both ask here.
"""

from __future__ import annotations

import re

_INT = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?[\d.]+(?:e[+-]?\d+)?|-?inf|nan")


def named(source: str) -> str:
    """``L['self'].k`` -> ``self.k``; ``G['MODE']`` -> ``the global MODE``; methods such as ``.size()`` are cut."""
    text = re.sub(r"\.(?:size|stride|storage_offset)$", "", source)
    text = re.sub(r"\._(?:modules|parameters|buffers)\['(\w+)'\]", r".\1", text)
    match = re.match(r"([LG])\['(\w+)'\](.*)$", text, re.S)
    if match is None:
        return text
    return f"{match[2]}{match[3]}" if match[1] == "L" else f"the global {match[2]}{match[3]}"


def for_tensor(source: str, what: str, index: str = "") -> str:
    """A property of a tensor differs: ``what`` is ``size``, ``stride``, ``rank``, ``dtype``, ``requires_grad``, ..."""
    name = named(source)
    if what == "size" and index:
        return f"torch._dynamo.mark_dynamic({name}, {index}) before the first call, or torch.compile(dynamic=True)"
    if what == "stride":
        return f"pass {name}.contiguous(), or tensors of one memory layout"
    if what in ("rank", "dimensions"):
        return f"give {name} the same number of dimensions in every call (one entry per rank is needed)"
    if what == "dtype":
        return f"convert {name} to one dtype before the call (one entry per dtype is needed)"
    if what == "requires_grad":
        return (
            f"pass {name} with the same requires_grad in every call: detach it, or set it "
            "(forward only and training are compiled apart)"
        )
    return f"give {name} the same {what} in every call"


def for_small_size() -> str:
    return "sizes 0 and 1 are always compiled separately; pad the input, or torch._dynamo.decorators.mark_unbacked"


def for_value(source: str, expected: str) -> str:
    """A plain Python value differs from ``expected``."""
    name = named(source)
    if _INT.fullmatch(expected):
        if source.startswith("L['self']"):
            remedy = "torch._dynamo.config.allow_unspec_int_on_nn_module = True"
        else:
            remedy = "pass it as a tensor, or leave torch._dynamo.config.automatic_dynamic_shapes on, or torch.compile(dynamic=True)"
        return f"{name} is a constant of the compiled code: {remedy}"
    if _FLOAT.fullmatch(expected):
        return f"{name} is a constant of the compiled code: pass it as a tensor (torch.tensor(...))"
    if expected in ("None", "True", "False"):
        return f"one entry per value of {name} is needed; keep it the same where the speed matters"
    return f"keep {name} the same between calls, or move what depends on it out of the compiled function"


_KINDS = (
    (("BACKEND_MATCH",), "compile with one and the same backend object"),
    (("Duplicate tensor", "no_tensor_aliasing", "check_no_aliasing"), "pass distinct tensors, or the same one twice, but not now this and now that"),
    (("grad_mode",), "make every call under the same torch.no_grad() / torch.enable_grad()"),
    (("GLOBAL_STATE", "global_state"), "call it under the same grad mode, autocast and default dtype"),
    (("type_id", "type_is("), "pass an object of the same type"),
    (("obj_id", "same_object("), "pass the same object"),
    (("len(", "same_items("), "keep the length the same between calls"),
)  # fmt: skip
"""What a guard's text contains -> the sentence."""


def for_kind(guard: str) -> str:
    """By the kind of guard alone; "" where that says too little."""
    return next((text for parts, text in _KINDS if any(part.lower() in guard.lower() for part in parts)), "")
