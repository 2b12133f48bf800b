"""What a saved function, or one compilation of a dump, has that can be compared: code, guards, graphs, kernels.

Input: the bytes of a file that torch saved, or a run.  Output: an ``ArtefactSide``, whose parts say the same of both
where they are the same.  Nothing is executed, loaded or unpickled.  What torch stores no text of is in no side:
``UNTOLD`` names it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from depyf.actions.opened.file_guards import guard_records
from depyf.actions.opened.open_file import MOST_BYTES, saved_version
from depyf.actions.opened.opened_code import opened_codes
from depyf.errors import DepyfError
from depyf.run.compile_stages import BACKWARD, FORWARD, JOINT, POST_GRAD, WRAPPER
from depyf.run.files.layout import graph_file
from depyf.run.files.reading import read_file
from depyf.run.guards.guard_kind import called, keywords, operands_of, tree_of
from depyf.run.guards.kinds.mark_guard import on_marks
from depyf.run.guards.known_kinds import plain
from depyf.run.records import EntryRecord, FunctionRecord, GuardRecord
from depyf.run.run import Run
from depyf.run.store.loading import load
from depyf.sources.files.nested_pickles import NestedPickles
from depyf.sources.files.pickle_steps import SavedFileError
from depyf.sources.files.saved_parts import SavedParts, parts_of
from depyf.sources.live.guards.printed_guards import guard_record

KERNELS = "kernels"
_STAGES = {
    "aot_joint_graph_str": JOINT,
    "aot_forward_graph_str": FORWARD,
    "aot_backward_graph_str": BACKWARD,
    "inductor_post_grad_graph_str": POST_GRAD,
    "source_code": KERNELS,
}
"""torch's names of texts in a file, and the stages of a dump that they are."""
UNTOLD = (
    "torch's global state and function modes, what modules do not contain, whether tensors share memory, and marks of "
    "dynamic dimensions: a file has no text of these guards"
)
_UNTOLD_KINDS = (
    "GLOBAL_STATE", "TORCH_FUNCTION_MODE_STACK", "DICT_CONTAINS", "DICT_NOT_CONTAINS", "NO_TENSOR_ALIASING",
    "STORAGE_OVERLAPPING", "DIMENSION_DYNAMIC_MARKING_GUARD", "DEFAULT_DEVICE", "DUPLICATE_INPUT", "OBJECT_ALIASING",
    "DICT_ITEMS",
)  # fmt: skip
_MADE = "bytecode"
"""The field of a saved function that holds the code which Dynamo made of it."""


@dataclass(frozen=True, slots=True)
class WantedTensor:
    """The dtype and sizes that a guard wants of a tensor, as far as a saved file has them; None: any size."""

    dtype: str
    sizes: tuple[int | None, ...]

    def agrees(self, other: WantedTensor) -> bool:
        """Whether one tensor fits both.  A file has the sizes of its example only, also of those that are free."""
        if self.dtype != other.dtype or len(self.sizes) != len(other.sizes):
            return False
        return all(None in pair or pair[0] == pair[1] for pair in zip(self.sizes, other.sizes))

    def __str__(self) -> str:
        return f"{self.dtype}{[size if size is not None else '?' for size in self.sizes]}".replace("'", "")


@dataclass(slots=True)
class ArtefactSide:
    """What is compared of one saved function or one compilation."""

    title: str
    function: str = ""
    """The name of the function that was compiled; "" where nothing tells it."""
    original: str = ""
    """The functions of the program that a file stores, decompiled; "" for a dump, which has their source."""
    code: str = ""
    """What Dynamo made of it; "" where there is none."""
    guards: dict[str, None] = field(default_factory=dict)
    """What is asked, in one form for both sides, in order."""
    keys: dict[str, dict[int, object]] = field(default_factory=dict)
    """Dictionary -> its keys by their place: a run has guards on some of them only."""
    tensors: dict[str, WantedTensor] = field(default_factory=dict)
    stages: dict[str, list[str]] = field(default_factory=dict)
    """Stage -> its texts."""
    has_guards: bool = True
    """It is of a kind that has guards: an entry of Inductor's cache has none."""

    def add(self, records: Iterable[GuardRecord]) -> None:
        for record in records:
            if record.kind in _UNTOLD_KINDS:
                continue
            tree = tree_of(record.expression)
            if tree is not None and called(tree) == "check_tensor":
                self._add_tensor(tree)
            else:
                self._add_text(_asked(record.expression))

    def _add_text(self, text: str) -> None:
        found = _keys(text)
        if found is not None:
            self.keys.setdefault(found[0], {}).update(found[1])
        elif text:
            self.guards[text] = None

    def _add_tensor(self, tree: ast.expr) -> None:
        assert isinstance(tree, ast.Call)
        told = keywords(tree)
        sizes = ast.literal_eval(told["size"]) if "size" in told else []
        dtype = ast.unparse(tree.args[2]).removeprefix("torch.")
        self.tensors[ast.unparse(tree.args[0])] = WantedTensor(dtype, tuple(sizes))


def side_of_file(path: Path, version: str | None = None) -> ArtefactSide:
    """SavedFileError for a file that cannot be read, OSError."""
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise SavedFileError(f"{path.name}: larger than {MOST_BYTES} bytes")
    try:
        parts = parts_of(NestedPickles(data))
    except SavedFileError as error:
        raise SavedFileError(f"{path.name}: {error}") from None
    facts = [f"torch {parts.facts['torch_version']}"] if "torch_version" in parts.facts else []
    facts += [f"Python {parts.facts['python_version']}"] if "python_version" in parts.facts else []
    side = ArtefactSide(f"{path} ({', '.join([parts.kind, *facts])})")
    codes = opened_codes(parts.codes, saved_version(parts, version), len(data))
    for one in codes:
        if one.held_by == _MADE:
            side.code += _code_text(one.text)
            continue
        side.function = side.function or one.name.rpartition(".")[2]
        side.original += one.text
    side.has_guards = bool(parts.codes)
    side.add(record for guard in parts.guards for record in guard_records(guard, guard_record))
    side.tensors = dict(_inputs(parts))
    for text in parts.texts:
        if text.key in _STAGES:
            side.stages.setdefault(_STAGES[text.key], []).append(text.text)
    return side


def sides_of_dump(folder: Path) -> Iterator[ArtefactSide]:
    """One side for each compilation of a dump.  DepyfError where ``folder`` is no dump."""
    run = load(folder)
    for function, entry in run.entries:
        if entry.transformed is not None or entry.guards:
            yield _of_entry(run, function, entry, folder)


def _of_entry(run: Run, function: FunctionRecord, entry: EntryRecord, folder: Path) -> ArtefactSide:
    versions = f"torch {run.torch_version}, Python {run.python_version}"
    side = ArtefactSide(f"{folder}, {function.code.shown} {entry.key.label} ({versions})", function.code.name)
    side.code = _code_text(entry.transformed.source) if entry.transformed is not None else ""
    side.add(entry.guards)
    known = {*_STAGES.values()} - {KERNELS}
    for graph in run.graphs:
        if graph.key == entry.key and (graph.stage in known or graph.stage == WRAPPER):
            stage = KERNELS if graph.stage == WRAPPER else graph.stage
            side.stages.setdefault(stage, []).append(read_file(folder, graph_file(graph)))
    return side


def nearest(side: ArtefactSide, others: Iterable[ArtefactSide]) -> ArtefactSide:
    """The compilation of a dump that is most like a saved function.  DepyfError where none is of that function."""
    of_it = [other for other in others if not side.function or other.function == side.function]
    if not of_it:
        raise DepyfError(f"the dump has no compilation of {side.function or 'a function'}")
    return max(of_it, key=lambda other: _alike(side, other))


def _alike(one: ArtefactSide, two: ArtefactSide) -> tuple[int, int, int, bool]:
    tensors = sum(facts.agrees(two.tensors[name]) for name, facts in one.tensors.items() if name in two.tensors)
    texts = sum(len({*texts} & {*two.stages.get(stage, ())}) for stage, texts in one.stages.items())
    guards = len(one.guards.keys() & two.guards.keys()) - len(one.guards.keys() ^ two.guards.keys())
    return tensors, texts, guards, bool(two.code)


def _asked(expression: str) -> str:
    """What a guard asks, in the one form of both sides; "" for what is not compared."""
    if on_marks(expression) or operands_of(expression, ("default_device_is",)):
        return ""
    text = plain(expression)
    match tree_of(text):
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=bool(flag))]):
            return f"{ast.get_source_segment(text.strip(), left)} is {flag}"
    return text


def _keys(text: str) -> tuple[str, dict[int, object]] | None:
    """The dictionary whose keys a guard asks for, and the keys by their place; None for another guard."""
    match tree_of(text):
        case ast.Compare(left=ast.Call() as listed, ops=[ast.Eq()], comparators=[ast.List() as wanted]):
            place = None
        case ast.Compare(
            left=ast.Subscript(value=ast.Call() as listed, slice=ast.Constant(value=int(place))),
            ops=[ast.Eq()],
            comparators=[wanted],
        ):
            pass
        case _:
            return None
    match listed:
        case ast.Call(
            func=ast.Name("list"),
            args=[ast.Call(func=ast.Attribute(value=ast.Name("dict"), attr="keys"), args=[owner])],
        ):
            pass
        case _:
            return None
    try:
        keys = ast.literal_eval(wanted)
    except ValueError:
        return None
    return ast.unparse(owner), dict(enumerate(keys)) if place is None else {place: keys}


def _inputs(parts: SavedParts) -> Iterator[tuple[str, WantedTensor]]:
    """The arguments that are tensors, by torch's names."""
    for name, one in parts.inputs.items():
        if one.dtype:
            yield f"L[{name!r}]", WantedTensor(one.dtype, one.size)


_NAMES = (
    (re.compile(r"__compiled_fn_\w+"), "__compiled_fn"),
    (re.compile(r"__transformed_code_\w*?_for_(?=\w)"), ""),
    (re.compile(r"^((?:async )?def )\w+(?=\()", re.M), r"\1f"),
    (re.compile(r"__builtins_dict__\w+|_\d{12,}\b"), ""),
)


def _code_text(source: str) -> str:
    """Without the names that torch, and a dump, invent."""
    for pattern, name in _NAMES:
        source = pattern.sub(name, source)
    return source.strip("\n") + "\n"
