"""Who asks torch's shape environment, and what that knows in the end.

Input: the call stack below an event of ``torch.fx.experimental.symbolic_shapes``, or the live ``ShapeEnv``.  Output:
plain strings.  Invariant: only attributes of torch's own objects are read, nothing of theirs is called that changes
them; what this torch does not have stays empty.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from depyf.run.places.place import Place
from depyf.run.places.stack_text import frames_in
from depyf.sources.live.pure_access import attribute, class_module, short_name
from depyf.sources.reports.library_files import of_libraries
from depyf.sources.reports.shape_questions import FinalSymbol, ShapeQuestion

_HOME = "torch.fx.experimental.symbolic_shapes"
_PLUMBING = (
    "torch.fx.experimental.", "torch.utils._stats", "torch._compile", "torch._dynamo.eval_frame",
    "torch._prims_common.wrappers", "torch._utils_internal", "torch._logging", "contextlib", "functools",
)  # fmt: skip
_DEEPEST = 400
_NODES = {"_get_fake_value_impl": "node", "get_fake_value": "node", "run_node": "node"}
_ENDS = ("trace_frame", "compile_inner", "_compile", "compile_to_fn", "call_user_compiler")
_DECLARING = ("_wire_spec_assumptions", "_wire_spec_slot", "_wire_tensor_spec_dims")
"""They assert what ``dynamic_shapes=`` declares."""
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "not_", "truth", "and_", "or_", "is_", "is_not")
"""What the program's line says better."""


def shape_question() -> ShapeQuestion:
    """The question that torch is answering now, told by the frames of this thread."""
    frame: types.FrameType | None = sys._getframe(1)
    depth = 0
    while frame is not None and frame.f_globals.get("__name__") != _HOME and depth < 24:
        frame, depth = frame.f_back, depth + 1
    if frame is None or frame.f_globals.get("__name__") != _HOME:
        return ShapeQuestion()
    env, dynamic, source, suppressed = None, "", "", False
    asker, inner, node = "", "", None
    for _ in range(_DEEPEST):
        if frame is None:
            break
        name, module = frame.f_code.co_name, str(frame.f_globals.get("__name__"))
        if module == _HOME:
            if env is None and "self" in frame.f_code.co_varnames[:1]:
                found = frame.f_locals.get("self")
                env = found if short_name(type(found)) == "ShapeEnv" else None
            if name == "_log_guard":
                suppressed = "suppressed" in str(frame.f_locals.get("prefix"))
            if name in _DECLARING:
                dynamic = "declared"
            if name == "create_symbol":
                dynamic, source = _why_dynamic(frame.f_locals), str(frame.f_locals.get("source_name") or "")
        elif module == "torch._dynamo.convert_frame" and name in _ENDS:
            break
        elif not asker and _asks(module, name):
            asker = f"{module}.{name}"
        if name == "dispatch" and module == "torch._subclasses.fake_tensor":
            inner = _operator_name(frame.f_locals.get("func")) or inner
        elif name in _NODES or name == "run_node":
            found = frame.f_locals.get("node", frame.f_locals.get("n"))
            if attribute(found, "target") is not None:
                node = found
                break
        frame = frame.f_back
    called = _operator_name(attribute(node, "target")) if node is not None else ""
    return ShapeQuestion(env, called or inner, asker, dynamic, _place_of(node), suppressed, source)


def _asks(module: str, name: str) -> bool:
    """Whether a function is torch's, and no mere way to the shape environment."""
    if module == "torch":
        return not name.startswith("__") and not name.startswith("sym_")
    return module.startswith("torch.") and not module.startswith(_PLUMBING)


def _why_dynamic(known: dict[str, Any]) -> str:
    constraint = known.get("constraint_dim")
    if constraint is not None:
        return "changed" if attribute(constraint, "warn_only") is True else "marked"
    kind = getattr(known.get("dynamic_dim"), "name", "")
    return {"DUCK": "asked", "UNBACKED": "declared"}.get(kind, "")


def _operator_name(target: Any) -> str:
    """``view`` of a method's name, ``cat`` of ``torch.cat``, ``aten.mm`` of an overload, ``mine.op`` of a custom
    one."""
    if type(target) is str:
        return target.rpartition(".")[2]
    if class_module(type(target)) == "torch._ops":
        packet = attribute(target, "_overloadpacket") or target
        whole = attribute(packet, "_qualified_op_name") or attribute(target, "_name") or ""
        return str(whole).replace("::", ".")
    name = str(attribute(target, "__name__") or "")
    home = attribute(target, "__module__")
    compares = (home == "_operator" and name in _COMPARISONS) or (home == "torch" and name.startswith("_check"))
    return "" if compares else name


def _place_of(node: Any) -> Place | None:
    """The innermost line of the program in the stack trace that a node carries."""
    meta = attribute(node, "meta")
    trace = meta.get("stack_trace") if type(meta) is dict else None
    frames = frames_in(trace) if type(trace) is str else []
    own = [frame for frame in frames if not of_libraries(frame.filename)]
    return (own or frames)[-1] if frames else None


def final_symbols(env: Any) -> dict[str, FinalSymbol]:
    """Symbol -> what is known of it, for all that have a source or a range."""
    sources: dict[str, dict[str, None]] = {}
    for source, symbol in _items(env, "source_to_var"):
        sources.setdefault(str(symbol), {})[str(source)] = None
    ranges = {str(symbol): known for symbol, known in _items(env, "var_to_range")}
    replaced = {str(symbol): str(by) for symbol, by in _items(env, "replacements")}
    found = {}
    for name in dict.fromkeys([*sources, *ranges, *replaced]):
        known = ranges.get(name)
        span = "" if known is None else f"[{attribute(known, 'lower')}, {attribute(known, 'upper')}]"
        found[name] = FinalSymbol(tuple(sources.get(name, ())), span, _resolved(name, replaced))
    return found


def _items(env: Any, name: str) -> list[tuple[Any, Any]]:
    table = attribute(env, name)
    return list(table.copy().items()) if type(table) is dict else []


def _resolved(name: str, replaced: dict[str, str]) -> str:
    """What a symbol is replaced by in the end; "" where it is not."""
    found = replaced.get(name, "")
    for _ in range(len(replaced)):
        if found not in replaced or found == name:
            break
        found = replaced[found]
    return "" if found == name else found
