"""A guard on a tensor: its class, dtype, device, sizes, strides, whether it needs a gradient, its dispatch keys.

check_tensor(L['x'], Tensor, DispatchKeySet(CPU, ...), torch.float32, device=None, requires_grad=False, size=[3],
stride=[1])
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from depyf.run.advice.registry import use
from depyf.run.advice.source_names import in_module, named, passed
from depyf.run.guards.difference import INNER, LAST_BATCH, LAST_BATCH_OF_TRAINER, PARAMETER, Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardFact,
    GuardKind,
    Look,
    PrintedGuard,
    UnknownValueError,
    Uses,
    arguments,
    keywords,
    source_of,
    spelled,
    tree_of,
)
from depyf.run.places.place import Place

_PRINTED = re.compile(
    r"^check_tensor\((?P<source>.*), (?P<cls>[\w.]+), DispatchKeySet\((?P<keys>[^()]*)\), (?P<dtype>torch\.\w+), "
    r"device=(?P<device>[^,]+), requires_grad=(?P<grad>True|False), size=(?P<size>\[.*\]), stride=(?P<stride>\[.*\])\)$"
)
_MISMATCH = re.compile(
    r"^tensor '(?P<name>.*?)' (?P<what>[\w ()]+?) mismatch(?: at index (?P<index>\d+))?\."
    r"(?: expected (?:\w+=)?(?P<expected>.*?)(?:, actual (?P<actual>.*?))?"
    r"(?P<parameter>\. Guard failed on a parameter.*)?)?$"
)
_LAYOUT = re.compile(
    r"check_tensor\((?P<tensor>.+?), '.*?\bsize=\[(?P<sizes>[^\]]*)\](?:.*?\bstride=\[(?P<strides>[^\]]*)\])?", re.S
)
_NUMBERS = re.compile(r"(?<=(?:size|ride)=\[)[^]]*(?=\])")
_ELEMENT = re.compile(r"(?P<what>\w+)\[(?P<index>\d+)\]")
_WORD = re.compile(r"\b\w+\b")
KEYS = "kind of tensor"
INFERENCE = "inference mode"
"""The tensor was made under ``torch.inference_mode``, or it was not."""
INFERENCE_CALL = "inference mode of the call"
"""The call was made under it, or it was not: then an ordinary tensor has other keys, too."""
OTHER_KEYS = "kind of tensor (device, layout, subclass)"
_OF_KEYS = (KEYS, INFERENCE, INFERENCE_CALL)
_STATED = {"rank": "dimensions"}


class TensorGuard(GuardKind):
    name = "tensor"
    checks = ("check_tensor",)
    asking = frozenset(checks)
    says_all = by_class = reads_sizes = frozenset(checks)

    def printed(self, guard: PrintedGuard) -> Iterable[str]:
        match = _PRINTED.match(guard.text) if guard.text.startswith("check_tensor(") else None
        if match is not None:
            yield (
                f"check_tensor({match['source']}, {match['cls']!r}, {match['dtype']}, size={match['size']}, "
                f"stride={match['stride']}, requires_grad={match['grad']}, device_index={match['device']}, "
                f"keys={match['keys']!r})"
            )

    def with_handle(self, check: str, operands: list[str], handle: str) -> list[str]:
        return [*operands, f"guard={handle}"]

    of_process = frozenset({"keys"})

    def brief(self, tree: ast.expr) -> str:
        """``x: Tensor float32[None, 3], stride [3, 1]``"""
        wanted = {name: spelled(node) for name, node in keywords(tree).items()}
        value, kind, dtype = arguments(tree)[:3]
        what = f"{ast.literal_eval(kind)} {spelled(dtype).removeprefix('torch.')}{wanted.get('size', '')}"
        grad = ", requires_grad" if wanted.get("requires_grad") == "True" else ""
        return f"{named(spelled(value))}: {what}, stride {wanted.get('stride', '')}{grad}"

    def facts(self, tree: ast.expr) -> Iterable[GuardFact]:
        told = keywords(tree)
        found: dict[str, object] = {
            name: ast.literal_eval(told[name]) for name in ("size", "stride", "requires_grad") if name in told
        }
        value, kind, dtype = arguments(tree)[:3]
        found |= {"dtype": spelled(dtype), "parameter": ast.literal_eval(kind) == "Parameter"}
        yield GuardFact("tensor", value, found)

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        source = source_of(tree)
        value, *rest = (look.value(node) for node in arguments(tree))
        wanted = {name: look.value(node) for name, node in keywords(tree).items() if name != "guard"}
        roles = look.roles(source) + ((PARAMETER,) if "Parameter" in rest[:1] else ())
        wrong = look.ask("tensor_differences", value, *rest, **wanted)
        if wrong:
            return tuple(_differs(source, name, pair, roles) for name, pair in wrong.items())
        found = look.side(value)
        if holds:
            return (Difference(self.name, source, found=found, roles=roles),)
        keys = look.ask("dispatch_keys", value)
        return (_keys(source, str(wanted.get("keys", "")), keys, roles, look.ask("is_inference", value)),)

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        match = _MISMATCH.match(text)
        if match is None:
            return None
        what, name = match["what"], match["name"]
        expected, actual = match["expected"] or "", match["actual"] or ""
        roles = look.roles(name) + ((PARAMETER,) if match["parameter"] else ())
        if what == "requires_grad" and expected in ("0", "1"):
            expected, actual = ("False", "True") if expected == "0" else ("True", "False")
        if what == "dispatch key set":
            return (_keys(name, expected, actual, roles, _made_for_inference(name, look)),)
        index = int(match["index"]) if match["index"] else None
        wanted, found = (GuardSide(text, "int" if text.isdigit() else "") for text in (expected, actual))
        return (Difference(self.name, name, what, index, wanted=wanted, found=found, roles=roles),)

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        first = differences[0]
        if first.what not in _OF_KEYS:
            return text
        name, wanted, found = named(first.source), first.wanted.text, first.found.text
        return f"tensor '{name}' {self.aspect(first)} mismatch. expected {wanted}, actual {found}"

    def stated(self, difference: Difference) -> tuple[str, str]:
        wanted, found = difference.wanted.text, difference.found.text
        if not difference.what or difference.what in _OF_KEYS:
            return wanted, found
        name = _STATED.get(difference.what, difference.what)
        name += f"[{difference.index}]" if difference.index is not None else ""
        return f"{name}={wanted}", f"{name}={found}"

    def aspect(self, difference: Difference) -> str:
        return OTHER_KEYS if difference.what == KEYS else difference.what

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        if difference.what == INFERENCE_CALL:
            return "some calls are made under torch.inference_mode(), others not"
        if difference.what == INFERENCE:
            return (
                f"{shown(named(difference.source))} is made under torch.inference_mode() in some calls, in others not"
            )
        return ""

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        name, what = named(difference.source), difference.what
        if what == "size" and difference.index is not None:
            return size_advice(difference)
        if what == "type" and "NoneType" in (difference.wanted.text, difference.found.text):
            return (use("with-and-without", name=name),)
        if what == "type" and {_last(difference.wanted.text), _last(difference.found.text)} == _PARAMETER_OR_NOT:
            return (use("parameter-or-tensor", tensor=name),)
        if what == "stride":
            return (use("contiguous", tensor=name),) if passed(difference.source) else ()
        if what == "rank":
            return (use("one-rank", tensor=name),)
        if what == "dtype":
            return (use("one-dtype", tensor=name),)
        if what == "requires_grad":
            return (use("one-requires-grad", tensor=name),)
        if what == INFERENCE_CALL:
            return (use("one-inference-mode"),)
        if what == INFERENCE:
            return (use("no-inference-tensors", tensor=name),)
        return (use("one-kind-of-tensor", tensor=name, what=self.aspect(difference)),) if what else ()

    def fixed(self, difference: Difference) -> tuple[str, str] | None:
        if difference.what != "size" or not difference.wanted.text.isdigit():
            return None
        return f"{difference.source}.size()[{difference.index}]", difference.wanted.text


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """The sizes and strides that a ``check_tensor`` guard wants; None: any."""

    tensor: str
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    rest: str
    """All else that it wants."""

    @property
    def of_parameter(self) -> bool:
        """Whether the tensor is an ``nn.Parameter``: torch does not make its sizes symbols."""
        return f"check_tensor({self.tensor}, 'Parameter'" in self.rest

    def allows(self, other: TensorLayout | None) -> bool:
        """Whether this guard accepts every tensor with the layout ``other``."""
        if other is None or self.rest != other.rest or len(self.sizes) != len(other.sizes):
            return False
        pairs = zip((*self.sizes, *self.strides), (*other.sizes, *other.strides), strict=True)
        return all(wanted in (None, found) for wanted, found in pairs)


@functools.lru_cache(maxsize=4096)
def layout_of(expression: str) -> TensorLayout | None:
    """The sizes and strides that ``expression`` wants; None where it is no ``check_tensor`` guard."""
    match = _LAYOUT.search(expression) if "check_tensor(" in expression else None
    if match is None:
        return None
    sizes, strides = (_numbers(match[name]) for name in ("sizes", "strides"))
    return TensorLayout(match["tensor"], sizes, strides, _NUMBERS.sub("", match.string))


def _numbers(text: str | None) -> tuple[int | None, ...]:
    parts = (part.strip() for part in (text or "").split(",") if part.strip())
    return tuple(int(part) if part.isdigit() else None for part in parts)


def _differs(source: str, name: str, pair: tuple[object, object], roles: tuple[str, ...]) -> Difference:
    element = _ELEMENT.fullmatch(name)
    what, index = (element["what"], int(element["index"])) if element else (name, None)
    wanted, found = (
        GuardSide(str(value), type(value).__name__ if isinstance(value, (int, str)) else "") for value in pair
    )
    what = "rank" if what == "dimensions" else what
    return Difference(TensorGuard.name, source, what, index, wanted=wanted, found=found, roles=roles)


def _keys(source: str, wanted: str, found: str, roles: tuple[str, ...], made_for_inference: bool) -> Difference:
    """Dispatch keys: a tensor has half a dozen, of which one differs.  ``made_for_inference``: what was found is a
    tensor of ``torch.inference_mode``; where it is none and lacks its keys, it is the call that is made under that."""
    these, those = set(_WORD.findall(wanted)), set(_WORD.findall(found))
    differing = these ^ those
    inference = any(key.startswith(("ADInplaceOrView", "Autograd")) for key in differing)
    return Difference(
        TensorGuard.name,
        source,
        KEYS if not inference else INFERENCE if made_for_inference else INFERENCE_CALL,
        wanted=GuardSide(_apart(these, those)),
        found=GuardSide(_apart(those, these)),
        roles=roles,
    )


def _made_for_inference(source: str, look: Look) -> bool:
    """Whether the tensor of the call was made under ``torch.inference_mode``."""
    tree = tree_of(source)
    try:
        return tree is not None and bool(look.ask("is_inference", look.value(tree)))
    except UnknownValueError:
        return False


_PARAMETER_OR_NOT = {"Tensor", "Parameter"}


def _last(name: str) -> str:
    """A class without its module."""
    return name.rpartition(".")[2]


def _apart(these: set[str], those: set[str]) -> str:
    more, less = ", ".join(sorted(these - those)), ", ".join(sorted(those - these))
    return " ".join(part for part in (f"with {more}" if more else "", f"without {less}" if less else "") if part)


def size_advice(difference: Difference) -> Uses:
    """The advice where a size of a tensor differs, the best first."""
    last = [use(_DROP_LAST[role]) for role in difference.roles if role in _DROP_LAST]
    symbols = list(_symbol_advice(difference))
    if difference.padded and not difference.small:  # another kind of way than to make a symbol of the size
        symbols.insert(1, use("pad-batches", how=difference.padded))
    return (*last, *symbols)


_DROP_LAST = {LAST_BATCH: "drop-last", LAST_BATCH_OF_TRAINER: "trainer-drop-last"}


def _symbol_advice(difference: Difference) -> Uses:
    """What makes a symbol of a size, or a tensor of another size."""
    source, index, name = difference.source, difference.dimension, named(difference.source)
    if in_module(source) or PARAMETER in difference.roles:
        return (use("dynamic-parameters", tensor=name),)
    tensor = "" if INNER in difference.roles else passed(source)
    if difference.small:
        pad = use("pad-size", tensor=name, dimension=index)
        return (pad, use("mark-unbacked", tensor=tensor, dimension=index)) if tensor else (pad,)
    dynamic = use("compile-dynamic")
    return (use("mark-dynamic", tensor=tensor, dimension=index), dynamic) if tensor else (dynamic,)


KIND = TensorGuard()
