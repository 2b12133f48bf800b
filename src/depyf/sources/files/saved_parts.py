"""What is in a saved file: its code, guards, signature and texts, found by what they are and not by where they lie.

Input: ``NestedPickles``.  Output: ``SavedParts``.  The classes are those of torch 2.13, in ``_dynamo/package.py``,
``_dynamo/guards.py``, ``_guards.py``, ``_inductor/output_code.py``, ``_aot_autograd/aot_autograd_result.py``.
Each object is visited once.  SavedFileError where the file holds more than any real one does.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from depyf.sources.files.inert_objects import Called, External, Named, Pairs, fields, inside
from depyf.sources.files.inert_text import cut, in_short
from depyf.sources.files.nested_pickles import NestedPickles
from depyf.sources.files.pickle_steps import TooLarge
from depyf.sources.files.precompile_text import PrecompileText
from depyf.sources.files.saved_code import is_code
from depyf.sources.files.saved_drops import SavedDrops
from depyf.sources.files.saved_signature import signature_text

MOST_PARTS = 20_000
_FACTOR, _ROOM = 8, 1 << 20
"""How many objects may be looked at, shared ones each time, and how many letters guards may have: so many
for each byte of the file, and so many.  Without sharing it is less than the file."""
_MOST_CHECKS = 1000
"""Of one guard."""
_MOST_FRAMES = 64
_LINES = 4
"""From how many lines on a text gets a file."""
_TRACES = ("stack", "trace")
_KEYS = ("backend_id", "backend_name", "device_type")
_NAMES, _LONGEST_NAME = 6, 100
"""How many names of what a part is in are in the part's name."""
_LONGEST_LINE = 1000
_SHAPE_KIND, _SIZES = "SHAPE_ENV", "sizes"
"""The subject of guards on sizes that have torch's reasons with them."""


DRIVER = "DRIVER"
"""The kind of what the Python code of an artefact checks of a call: torch has no guard of it."""


@dataclass(slots=True)
class SavedCodeObject:
    """A code object; ``place`` says where in the file it is, ``held_by`` which field has it."""

    place: str
    value: object
    held_by: str = ""


@dataclass(slots=True)
class SavedGuard:
    """A guard: its kind, of what, its checks as torch wrote them, and the line that needed it."""

    kind: str
    subject: str
    checks: tuple[str, ...]
    line: str = ""
    place: str = ""


@dataclass(slots=True)
class SavedText:
    """A text of several lines, such as Inductor's code or a graph."""

    place: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class SavedInput:
    """An argument of the call that guards were made from."""

    text: str
    """A tensor by what the guards know of it, another value in short."""
    dtype: str = ""
    """Of a tensor: ``float32``; "" for another value."""
    size: tuple[int, ...] = ()


@dataclass(slots=True)
class SavedParts:
    """All that was found, in the order of the file."""

    kind: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    signatures: list[str] = field(default_factory=list)
    codes: list[SavedCodeObject] = field(default_factory=list)
    guards: list[SavedGuard] = field(default_factory=list)
    texts: list[SavedText] = field(default_factory=list)
    inputs: dict[str, SavedInput] = field(default_factory=dict)
    """What the guards were made from: the arguments of the call, as far as they are kept."""
    called: Counter[str] = field(default_factory=Counter)
    """What loading the file would call, how often."""
    imported: Counter[str] = field(default_factory=Counter)
    external: Counter[str] = field(default_factory=Counter)
    """What who loads the file has to bring along."""
    is_function: bool = False
    """It is what ``save_compiled_function`` writes."""
    is_program: bool = False
    """It is a Python module, which loading executes."""
    drops: SavedDrops = field(default_factory=SavedDrops)
    """What its summary says of guards that are left out, where it has one."""


_GRAPH_STATE = "unpickle_state"
"""What torch's own pickler of graphs refers to by this name, it brings along (``fx/_graph_pickler.py``)."""
Place = tuple["Place", str] | None


def parts_of(pickles: NestedPickles) -> SavedParts:
    return _Visit(pickles).run()


class _Visit:
    def __init__(self, pickles: NestedPickles) -> None:
        self.pickles = pickles
        self.found = SavedParts()
        self.seen: set[int] = set()
        self.count = 0
        self.left = _ROOM + _FACTOR * pickles.size

    def run(self) -> SavedParts:
        root = self.pickles.root
        self.found.kind, self.found.is_function = _kind(root), _is_function(root)
        if self.pickles.text is not None:
            self.summary(self.pickles.text)
        todo: list[tuple[Place, object, object]] = [(None, "", root)]
        while todo:
            place, key, value = todo.pop()
            if isinstance(value, bytes):
                value = self.pickles.unfold(value)
            if value is None or isinstance(value, (int, float, bytes)) or id(value) in self.seen:
                continue
            self.seen.add(id(value))
            if isinstance(value, str):
                self.text(place, key, value)
                continue
            inner: Place = (place, key) if type(key) is str and key else place
            parts = list(inside(value))
            self.spend(len(parts))
            if not self.visited(inner, value):
                if isinstance(value, list) and len(value) > 1:
                    parts = [(str(number), item) for number, item in parts]
                todo += [(inner, part, item) for part, item in reversed(parts)]
        told = {guard.place for guard in self.found.guards if guard.subject == _SIZES}
        self.found.guards = [
            guard
            for guard in self.found.guards
            if guard.kind != _SHAPE_KIND or guard.subject == _SIZES or (guard.place not in told and guard.checks)
        ]
        return self.found

    def summary(self, text: PrecompileText) -> None:
        """What a precompile artefact says of itself."""
        found = self.found
        found.kind, found.drops, found.is_program = text.kind, text.drops, True
        found.facts.update(text.facts)
        for subject, checks in text.checks:
            self.grow()
            self.spend(sum(map(len, checks)))
            found.guards.append(SavedGuard(DRIVER, subject, checks))

    def visited(self, place: Place, value: object) -> bool:
        """Record what ``value`` is; whether its parts are all told by that."""
        found = self.found
        if isinstance(value, Named):
            found.imported[value.full] += 1
        elif isinstance(value, External):
            if value.key != _GRAPH_STATE:
                found.external[in_short(value.key)] += 1
        elif isinstance(value, Pairs):
            self.note(value)
        elif isinstance(value, Called):
            found.called[in_short(value.function)] += 1
            self.note(value)
            return self.made(place, value)
        return False

    def made(self, place: Place, value: Called) -> bool:
        found = self.found
        if is_code(value):
            self.grow()
            found.codes.append(SavedCodeObject(_shown(place), value, place[1] if place is not None else ""))
            return True
        if value.name == "Signature":
            text = signature_text(value)
            if text is not None:
                self.grow()
                self.spend(len(text))
                found.signatures.append(text)
        elif value.name == "Guard":
            self.grow()
            guard = _guard(value, _guarded(place))
            self.spend(sum(map(len, guard.checks)) + len(guard.checks))
            found.guards.append(guard)
        elif value.name == "ShapeCodeParts":
            self.shapes(value, _guarded(place))
        elif value.name == "SystemInfo":
            for key, item in fields(value).items():
                self.grow()
                if item is not None:
                    found.facts.setdefault(key, _plain(item))
        elif value.name == "OutputGraphGuardsState":
            scope = fields(value).get("local_scope")
            for key, item in fields(scope).items():
                self.grow()
                found.inputs.setdefault(cut(key), _input(item))
        elif value.name == "CompiledAOTI":
            self.written(place, fields(value).get("_cached_files"))
        return value.name == "FrameSummary"

    def written(self, place: Place, files: object) -> None:
        """The files of AOTInductor that are text: its C++.  ``files``: their content by path; the library is machine
        code."""
        for path, item in fields(files).items():
            self.spend(len(item) if isinstance(item, bytes) else 1)
            try:
                text = item.decode() if isinstance(item, bytes) else ""
            except UnicodeDecodeError:
                continue
            self.text(place, path.rpartition("/")[2].partition(".")[2].replace(".", "_"), text)

    def shapes(self, value: Called, place: str) -> None:
        """The conditions on sizes, with torch's reasons where it kept them."""
        found = fields(value)
        for key in ("verbose_code_parts", "python_code_parts"):
            checks = _texts_of(found.get(key))
            if checks:
                self.grow(len(checks))
                self.spend(sum(map(len, checks)))
                self.found.guards.append(SavedGuard(_SHAPE_KIND, _SIZES, checks, place=place))
                return

    def note(self, value: object) -> None:
        for key, item in fields(value).items():
            if type(item) is not str:
                continue
            if key in _KEYS:
                self.found.facts.setdefault(key, in_short(item).strip("'"))
            elif key == "guards_expr" and item:
                self.grow()
                self.spend(len(item))
                self.found.guards.append(SavedGuard("guards_expr", "a graph", (item,)))

    def text(self, place: Place, key: object, value: str) -> None:
        if type(key) is str and value.count("\n") >= _LINES and not any(part in key for part in _TRACES):
            self.grow()
            self.found.texts.append(SavedText(_shown((place, key)), key, value))

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise TooLarge("what the file shares expands too far")

    def grow(self, count: int = 1) -> None:
        self.count += count
        if self.count > MOST_PARTS:
            raise TooLarge(f"more than {MOST_PARTS} parts in one file")


def _shown(place: Place) -> str:
    names: list[str] = []
    while place is not None and len(names) < _NAMES:
        place, name = place
        names.append(name[:_LONGEST_NAME])
    return ".".join(reversed(names))


def _is_function(root: object) -> bool:
    return isinstance(root, Pairs) and {"guards_state", "compiled_fn", "original_code"} <= fields(root).keys()


def _kind(root: object) -> str:
    names = fields(root)
    if _is_function(root):
        return "a function that was compiled ahead of time"
    if isinstance(root, Pairs) and "code_hash" in names:
        return "the cache of a precompile artefact"
    if isinstance(root, Pairs) and ("entries" in names or "artifact" in names):
        return "a graph that Inductor compiled alone"
    if isinstance(root, list) and root and all(isinstance(item, bytes) for item in root):
        many = "1 pickle" if len(root) == 1 else f"{len(root)} pickles"
        return f"a list of {many}, such as the functions of a module that was compiled ahead of time"
    if isinstance(root, Called) and root.name:
        return _CLASSES.get(root.name, f"a pickled {in_short(root.function)}")
    return "a pickle of another kind than torch's compiled functions"


_CLASSES = {
    "CompiledFxGraph": "an entry of torch's cache of compiled graphs",
    "AOTAutogradResult": "an entry of torch's cache of AOTAutograd",
    "BundledAOTAutogradResult": "an entry of torch's cache of AOTAutograd, with the compiled graphs",
    "PrecompileCacheEntry": "what caching_precompile keeps of a function",
}


def _guard(value: Called, place: str) -> SavedGuard:
    found = fields(value)
    function = found.get("create_fn")
    if isinstance(function, Called) and function.positional:
        function = function.positional[0]  # functools.partial
    kind = function.name.rpartition(".")[2] if isinstance(function, Named) else "guard"
    checks = found.get("code_list")
    texts = [item for item in checks[:_MOST_CHECKS] if type(item) is str] if isinstance(checks, list) else []
    return SavedGuard(kind, _subject(found.get("originating_source")), tuple(dict.fromkeys(texts)), _line(found), place)


def _texts_of(value: object) -> tuple[str, ...]:
    """The texts of one of torch's lists of conditions: an object with slots, whose state is the list of its values."""
    states = value.states if isinstance(value, Called) else []
    for state in [fields(value).get("exprs"), *states]:
        items = state[0] if isinstance(state, list) and state and isinstance(state[0], list) else state
        texts = [item for item in items[:_MOST_CHECKS] if type(item) is str] if isinstance(items, list) else []
        if texts:
            return tuple(texts)
    return ()


def _guarded(place: Place) -> str:
    """Where the guards lie that one at ``place`` belongs to."""
    while place is not None and place[1] != "guards_state":
        place = place[0]
    return _shown(place)


_SAME = frozenset(
    "NNModuleSource UnspecializedNNModuleSource UnspecializedBuiltinNNModuleSource FSDPNNModuleSource "
    "OptimizerSource SkipGuardSource".split()
)
"""torch's sources that are the value of the source in them."""
_ATTRIBUTES = frozenset("AttrSource GenericAttrSource ParamBufferSource UnspecializedParamBufferSource".split())
_ITEMS = frozenset("GetItemSource ListGetItemSource DictGetItemSource DictSubclassGetItemSource".split())


def _subject(source: object, depth: int = 12) -> str:
    """``x.weight`` of torch's nested sources, as far as their parts are plain."""
    if not isinstance(source, Called):
        return ""
    first = source.positional[0] if source.positional else None
    member = source.positional[1] if len(source.positional) > 1 else None
    if isinstance(first, Called) and depth:
        base = _subject(first, depth - 1)
        if source.name in _SAME:
            return base
        if source.name in _ATTRIBUTES and type(member) is str:
            return f"{base}.{cut(member)}"
        if source.name in _ITEMS and not isinstance(member, Called):
            return f"{base}[{in_short(member)}]"
        return f"{source.name.removesuffix('Source')} of {base}"
    if type(first) is str:
        return cut(first)
    return source.name.removesuffix("Source")


def _line(found: dict[str, object]) -> str:
    stack = found.get("user_stack")
    frames = stack.items if isinstance(stack, Called) else []
    for frame in reversed(frames[-_MOST_FRAMES:]):
        place = fields(frame)
        if type(place.get("filename")) is str and type(place.get("lineno")) is int:
            text = place.get("_line")
            code = f": {cut(text[:_LONGEST_LINE].strip())}" if type(text) is str else ""
            return f"{cut(str(place['filename']))}:{in_short(place['lineno'])}{code}"
    return ""


def _input(value: object) -> SavedInput:
    if isinstance(value, Called) and value.positional:
        meta = value.positional[0]
        if isinstance(meta, Called) and meta.name.startswith("_rebuild_meta"):
            described = [in_short(item) for item in meta.positional]
            if len(described) == 4:
                device = in_short(value.positional[1]) if len(value.positional) > 1 else ""
                grad = ", requires grad" if described[3] == "True" else ""
                text = f"a tensor of {described[0]}, size {described[1]}, stride {described[2]}, {device}{grad}"
                return SavedInput(text, described[0].removeprefix("torch."), _sizes(meta.positional[1]))
    return SavedInput(in_short(value))


def _sizes(value: object) -> tuple[int, ...]:
    items = value if isinstance(value, (tuple, list)) else ()
    return tuple(item for item in items if type(item) is int)


def _plain(value: object) -> str:
    if isinstance(value, Called) and len(value.positional) == 1:
        value = value.positional[0]  # a subclass of str
    return in_short(value).strip("'")
