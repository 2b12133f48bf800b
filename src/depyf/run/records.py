"""What was captured from one run of torch.compile, as plain frozen data.

Input: nothing.  Output invariant: a record holds only strings, numbers and tuples of records (no code object, no
tensor, no torch type), so report and debugger can read it in another process, and holding it keeps nothing alive.
"""

from __future__ import annotations

import enum
import functools
import re
from dataclasses import dataclass, field, replace

from depyf.decompiler.bytecode.variables.spelling import is_legal, legalised
from depyf.run.advice.advice import AdviceUse
from depyf.run.bill.lowering import LoweredGraph
from depyf.run.graphs.given_graph import GivenRecord
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.graphs.node_origins import NodeOrigins
from depyf.run.graphs.unrolled_loops import UnrolledLoop
from depyf.run.guards.difference import Difference
from depyf.run.guards.unguarded_value import UnguardedValue
from depyf.run.made import Made
from depyf.run.places.place import Place

ELSEWHERE = {"stored": False}
"""Metadata of a field that is not in the line of its record: it has a line, or a file, by itself."""
LOGGED = "log"
"""The state of guards that a log of torch tells: whether they are in the cache is not known."""
NOTHING_TO_COMPILE = "there was nothing to compile in it (no tensor operation): torch leaves it alone from then on"
"""Why there is no code for a function that costs nothing: it runs as it would have anyway."""


@dataclass(frozen=True, slots=True, order=True)
class CompileKey:
    """torch's compile id (``0/1``, ``!0/1/0``) and how often the process had restarted its counters before it."""

    generation: int
    text: str

    @property
    def slug(self) -> str:
        """The id as it stands in file names: ``0_1``, ``ca0_1_0``, ``0_1r1`` after one ``torch._dynamo.reset()``."""
        return slug(self.generation, self.text)

    @property
    def label(self) -> str:
        """The id as people read it: torch's own, and after how many resets; "none" for what has no id."""
        text = self.text or "none"
        return f"{text} (after reset {self.generation})" if self.generation else text

    @staticmethod
    def text_in(label: str) -> str:
        """torch's compile id in ``label``, without the number of resets."""
        return label.partition(" (after reset ")[0]

    @property
    def function(self) -> tuple[int, str]:
        """What all compilations of one code object share: the number of the frame, ``1`` of ``1/0`` and of ``!0/1/2``
        (torch counts frames in and out of compiled autograd alike, and has one list of entries for both)."""
        return self.generation, self.text.rpartition("/")[0].rpartition("/")[2]

    @property
    def order(self) -> tuple[int, int, tuple[int, ...]]:
        """The sort key: ids as numbers, compiled-autograd ids last within a generation."""
        return self.generation, int(self.text.startswith("!")), _numbers(self.text)


@functools.lru_cache(maxsize=4096)
def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


@functools.lru_cache(maxsize=4096)
def slug(generation: int, text: str) -> str:
    slug = re.sub(r"[^0-9A-Za-z]+", "_", text.replace("!", "ca")).strip("_") or "unknown"
    return f"{slug}r{generation}" if generation else slug


@dataclass(frozen=True, slots=True)
class GuardRecord:
    """One leaf guard: torch's kind and text (addresses removed), a readable expression, and the line that caused it."""

    kind: str
    text: str
    expression: str
    source: str = ""
    place: Place | None = None
    why: str = ""
    value: str = ""
    """What it looked at when the recording ended; "" where only an argument leads there, or it is gone."""
    holds: bool = True
    """Whether ``value`` is what it wants."""
    module: str = ""
    """The name of the Python module that it wants and that ``value`` is; "" for another value."""
    left_out_by: str = ""
    """Who left it out, in words, where no call is asked it."""
    risky: bool = False
    """torch calls that risky: variants of the compiled code differ by it, or the program chooses what it is on."""


_LIMIT = re.compile(r"(?:recompile|cache)(?:[ _]size)?[ _]limit (?:exceeded|reached)", re.I)


@dataclass(frozen=True, slots=True)
class BreakRecord:
    """One graph break: torch's report and what it says."""

    text: str = field(metadata=ELSEWHERE)
    """The report, with the lines of everything around the program; what is told of it is in the other fields."""
    place: Place | None
    reason: str
    cause: str
    """In plain words."""
    explanation: str
    hints: tuple[str, ...]
    code: str
    """torch's number for this kind of break, ``GB0170``; "" where it has none."""
    skipped: bool
    """Dynamo could not go on after it: the whole function runs as ordinary Python."""
    cut: bool = False
    """Dynamo could not go on after it, but what comes before is compiled: the rest runs as ordinary Python."""
    in_loop: bool = False
    """It could not go on because a loop of the function was running."""
    caller: Place | None = None
    """Where ``place`` is in code of a library: the line of the program that led there."""
    asked: str = ""
    """The operator that asked: ``Tensor.item``, ``print``; "" where torch does not say."""
    expression: str = ""
    """The part of the program's line that was being evaluated, where the report marks it."""
    module: str = ""
    """The module in whose ``forward`` it happened, as the compiled function reaches it: ``h.0.attn``."""
    advice: tuple[AdviceUse, ...] = ()
    """What would avoid it, the best first; only what can help under the options that were set then."""

    @property
    def limit(self) -> bool:
        """Whether torch reports the recompile limit here, which it does in the form of a graph break."""
        return _LIMIT.search(self.reason) is not None

    @property
    def identity(self) -> tuple[str, int, str]:
        """What two reports of the same break share, whichever frame or attempt reported it."""
        place = self.caller or self.place
        return (place.filename, place.line, self.reason) if place else ("", 0, self.reason)


@dataclass(frozen=True, slots=True)
class RecompileRecord:
    """Why one earlier entry did not fit a call."""

    entry: str
    guard: str
    place: Place | None
    expected: str
    """What the differences wanted and found, in words."""
    actual: str
    advice: tuple[AdviceUse, ...] = ()
    """What would make it fit, the best first; only what can help under the options that were set then."""
    differences: tuple[Difference, ...] = ()
    """What the guard that failed wanted and found."""


@dataclass(frozen=True, slots=True)
class FailedGuardRecord:
    """A guard of an earlier entry that did not hold in the call."""

    guard: str
    place: Place | None
    differences: tuple[Difference, ...]
    """What it wanted and found."""


@dataclass(frozen=True, slots=True)
class RefusalRecord:
    """All that kept an earlier entry from running in the call for which another one was made."""

    entry: str
    failed: tuple[FailedGuardRecord, ...]


@dataclass(frozen=True, slots=True)
class SymbolRecord:
    """A dynamic-shape symbol: its value when compiled, the line that made it, what the program assumed of it."""

    name: str
    source: str
    value: str
    range: str
    place: Place | None
    assumptions: tuple[tuple[str, Place], ...] = ()
    became: str = ""
    """The constant that it was specialised to; "" where it stayed a symbol."""
    why: str = ""
    where: Place | None = None
    """The line that specialised it."""
    sources: tuple[str, ...] = ()
    """All that torch takes for it in the end, the first one first: sizes that were equal in the first call share a
    symbol."""
    final: str = ""
    """The range after all guards, ``[48, 51]``; "" where torch's ranges were not seen at the end."""
    equals: str = ""
    """What torch puts in its place in the end: another symbol, an expression, a number; "" where it stays."""
    dynamic: str = ""
    """Why it is a symbol: ``marked`` (the program said so), ``changed`` (between two compilations), ``asked``
    (``dynamic=True``), ``declared`` (``dynamic_shapes=``, ``mark_unbacked``)."""
    by: str = ""
    """The operator that specialised it."""

    @property
    def constant(self) -> bool:
        """Whether the symbol was specialised to a number: by a line of the program or by torch."""
        return bool(self.became) or self.equals.lstrip("-").isdigit()

    def specialised(self, became: str, why: str, where: Place | None) -> SymbolRecord:
        return replace(self, became=became, why=why, where=where)


@dataclass(frozen=True, slots=True)
class ShapeFact:
    """One condition on symbols that torch took down while compiling, and what asked for it."""

    expression: str
    """As torch writes it: ``Eq(Mod(s53, 4), 0)``."""
    place: Place | None
    """The program's line; None for bounds of torch's own."""
    operator: str = ""
    """The operation of the program that was compiled then: ``view``, ``cat``; "" where the program compared sizes
    itself."""
    asker: str = ""
    """The function of torch that asked: ``torch._refs._broadcast_shapes``."""


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """What one of torch's caches answered: ``hit``, ``miss``, ``bypass``, and why it was bypassed."""

    cache: str
    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """One artifact of a compiled graph: an FX graph printed by torch, or the wrapper that Inductor generated."""

    key: CompileKey
    stage: str
    index: int
    text: str = field(metadata=ELSEWHERE)
    path: str = field(metadata=ELSEWHERE, default="")
    """Where torch itself keeps it (generated wrappers only)."""
    facts: GraphFacts | None = None
    """What the text does not say; None where torch's frames did not hold the graph."""
    given: GivenRecord | None = None
    """None for a graph that torch reported."""
    origins: NodeOrigins | None = field(metadata=ELSEWHERE, default=None)
    """Where its operations come from; None where torch's frames did not hold the graph."""
    edited: tuple[str, ...] = ()
    """What ``depyf.edited`` put into its compilation, a line a file."""
    loops: tuple[UnrolledLoop, ...] = ()
    """The loops of the program that it holds unrolled, where it is long."""
    lowering: LoweredGraph | None = None
    """What its kernels move through memory, and why (generated wrappers); None where Inductor did not make it in this
    process: it came from a cache."""


@dataclass(frozen=True, slots=True)
class CodeRecord:
    """What a code object says about how it is called, and the source it came from, where that can be read."""

    name: str
    qualname: str
    filename: str
    line: int
    posonly: tuple[str, ...]
    args: tuple[str, ...]
    kwonly: tuple[str, ...]
    varargs: str | None
    varkw: str | None
    freevars: tuple[str, ...]
    source: str = ""
    disassembly: str = ""
    decorated: Place | None = None
    """The function of the program for which it stands, where it is a decorator's own."""
    wrapped: str = ""
    """What it calls, where it is torch's wrapper around a callable object: ``net (Sequential)``."""
    goes_on: tuple[int, ...] = ()
    """Of a resume function: the lines of the program at which ``source`` goes on in that of another one."""

    @property
    def shown(self) -> str:
        """The name under which the program knows it."""
        if self.wrapped:
            return self.wrapped
        return self.decorated.function if self.decorated is not None else self.qualname

    @property
    def spelled(self) -> dict[str, str]:
        """Parameter -> its name in Python text: a comprehension calls the iterator that it is given ``.0``."""
        legal = {name: name for name in self.locals if is_legal(name)}
        taken = {*legal, *self.freevars}
        for name in self.locals:
            if name not in legal:
                legal[name] = legalised(name)
                while legal[name] in taken:
                    legal[name] += "_"
                taken.add(legal[name])
        return legal

    @property
    def parameters(self) -> str:
        """The parameter list as written after ``def name(``; defaults are not known to a code object."""
        spelled = self.spelled
        parts = [spelled[name] for name in self.posonly]
        if self.posonly:
            parts.append("/")
        parts += [spelled[name] for name in self.args]
        if self.varargs is not None:
            parts.append("*" + spelled[self.varargs])
        elif self.kwonly:
            parts.append("*")
        parts += [spelled[name] for name in self.kwonly]
        if self.varkw is not None:
            parts.append("**" + spelled[self.varkw])
        return ", ".join(parts)

    @property
    def forwarded(self) -> str:
        """The argument list that passes the parameters on unchanged."""
        spelled = self.spelled
        parts = [spelled[name] for name in (*self.posonly, *self.args)]
        if self.varargs is not None:
            parts.append("*" + spelled[self.varargs])
        parts += [f"{spelled[name]}={spelled[name]}" for name in self.kwonly]
        if self.varkw is not None:
            parts.append("**" + spelled[self.varkw])
        return ", ".join(parts)

    @property
    def locals(self) -> tuple[str, ...]:
        """Every name bound when the function starts."""
        extra = tuple(name for name in (self.varargs, self.varkw) if name is not None)
        return (*self.posonly, *self.args, *self.kwonly, *extra)


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """The verdict of one code object of a transformed function."""

    qualname: str
    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TransformedRecord:
    """The bytecode Dynamo wrote for one compilation, decompiled.

    ``source`` defines ``__transformed_code_<id>_for_<function>`` and is "" where nothing could be decompiled;
    ``substituted`` says whether the recompiled code runs; ``reason`` says why not.
    """

    source: str
    substituted: bool
    reason: str
    verdicts: tuple[VerdictRecord, ...]
    graphs: tuple[str, ...]
    """Readable names of the compiled graphs it calls."""
    resumes: tuple[str, ...]
    """Global names of the resume functions it calls."""
    needs: tuple[str, ...] = ()
    """What the text alone does not define, in words."""
    lines: tuple[tuple[int, int], ...] = ()
    """A line of ``source``, and the line of the function's file from which it and the next lines come."""
    definitions: tuple[str, ...] = ()
    """Statements that define constants without a literal, which a text by itself begins with."""


@dataclass(frozen=True, slots=True)
class CallerRecord:
    """A frame that ran while torch compiled: of a function that Dynamo saw, or else one line of the program between two
    of those."""

    place: Place
    """Line 0: which line of the function it was is not known."""
    function: tuple[int, str] | None = None


class EntryState(enum.Enum):
    """What became of a compilation."""

    COMPILED = "compiled"
    PYTHON = "ran as Python"
    """torch gave it up: the function ran as ordinary Python."""
    NOTHING = "nothing to compile"
    FAILED = "failed"
    """torch raised an error into the program."""
    UNFINISHED = "unfinished"
    """The process ended while torch compiled it."""


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """One compilation of one code object: a cache entry, or a compilation that left none."""

    key: CompileKey
    transformed: TransformedRecord | None
    guards: tuple[GuardRecord, ...] = field(metadata=ELSEWHERE)
    guard_state: str
    """``live``: in the cache when the record was made; ``event``: only reported; ``none``: never seen; or LOGGED."""
    breaks: tuple[BreakRecord, ...] = ()
    recompiles: tuple[RecompileRecord, ...] = ()
    """The earlier entries that did not fit, the nearest to the call first: that of which the fewest guards failed."""
    failed: str = ""
    """Why there is no compiled code, in one line; "" where there is."""
    raised: bool = False
    """Why there is none was an error that torch raised into the program: the frame did not run as ordinary Python."""
    restarts: tuple[str, ...] = ()
    """Why Dynamo began its analysis again."""
    symbols: tuple[SymbolRecord, ...] = ()
    caches: tuple[CacheRecord, ...] = ()
    before: bool = False
    """Compiled before the recording began."""
    shape_facts: tuple[ShapeFact, ...] = ()
    """Each once, in the order in which torch found them."""
    advice: tuple[AdviceUse, ...] = ()
    """Advice where nothing was compiled and neither a graph break nor a guard is the reason."""
    callers: tuple[CallerRecord, ...] = ()
    """Who called the function when it was compiled, the outermost first."""
    operations: int | None = None
    """Operations in its graph, as torch counts them."""
    error: str = ""
    """The error that torch ended with, in plain words."""
    error_at: Place | None = None
    """The line of the program that the error is about."""
    wrapped: str = ""
    """What it calls, where the function is torch's wrapper around a callable object."""
    wrapped_parameters: tuple[str, ...] = ()
    """What the positional arguments of the wrapper are called there."""
    refusals: tuple[RefusalRecord, ...] = ()
    """For each earlier entry that torch asked all guards that failed; () where the entry has no guards to tell by."""
    in_force: tuple[str, ...] = ()
    """Options that were as an advice wants them at a break or a recompilation; with a colon, those that torch lacks."""
    finished: bool = True
    """torch was done with it when the record was made."""
    backend: str = ""
    """The backend that compiled it; "" where that is not known."""
    made: Made = Made.CALL
    left_out: tuple[GuardRecord, ...] = field(metadata=ELSEWHERE, default=())
    """Guards that torch found necessary, and a filter left out: no call is asked them."""
    captured: bool = False
    """A capture of ``torch.compiler.precompile`` stores it: of a function, an artefact has these entries alone."""
    unguarded: tuple[UnguardedValue, ...] = ()
    """What the code reads of the program, and no guard looks at."""
    cuda_graphs_skipped: str = ""
    """Why torch makes no CUDA graph of it, or of its backward, though it was to; with the stack that it names."""

    @property
    def state(self) -> EntryState:
        if not self.failed:
            return EntryState.COMPILED if self.finished else EntryState.UNFINISHED
        if self.raised:
            return EntryState.FAILED
        return EntryState.NOTHING if self.failed == NOTHING_TO_COMPILE else EntryState.PYTHON

    @property
    def gone(self) -> bool:
        """Whether it was no longer in torch's cache when the record was made."""
        return self.guard_state not in ("live", LOGGED)

    @property
    def found_in(self) -> tuple[str, ...]:
        """The caches of torch that had it, or a part of it."""
        return tuple(dict.fromkeys(record.cache for record in self.caches if record.status == "hit"))

    @property
    def broke(self) -> bool:
        """Whether a graph break ends its graph before the function returns."""
        return bool(self.breaks) or (self.transformed is not None and bool(self.transformed.resumes))

    @property
    def word(self) -> str:
        """The state of the compilation, in a word or two."""
        if self.state is EntryState.COMPILED:
            return "broke" if self.broke else "loaded" if self.made.loaded else "ok"
        return "ran as Python" if self.state is EntryState.NOTHING else self.state.value


@dataclass(frozen=True, slots=True)
class FunctionRecord:
    """One code object that Dynamo saw, with its compilations in the order torch tries them."""

    function: tuple[int, str]
    code: CodeRecord
    entries: tuple[EntryRecord, ...] = field(metadata=ELSEWHERE)
    resume_of: tuple[int, str] | None = None
    resume_names: tuple[str, ...] = ()
    """The globals under which transformed code calls it, where it is a resume function."""
