"""State of one printing run, and the dispatch from node types to the functions that print them.

``atoms.py``, ``access.py``, ``operators.py``, ``displays.py``, ``fstrings.py``, ``patterns.py``, ``statements.py`` and
``definitions.py`` register one function per node type.  An expression printer gets the level its surroundings demand
and adds parentheses if the node binds less tightly.  A statement printer returns the text of the statement's first
line; what is nested below it is printed by a second function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from depyf.decompiler.bytecode.codeunit import CO_FUTURE_ANNOTATIONS, CodeUnit
from depyf.decompiler.bytecode.tables.unthreaded import unthreaded_lines
from depyf.decompiler.emit.bound import BoundConstants
from depyf.decompiler.emit.grammar import CO_FUTURE_BARRY_AS_FLUFL, grammar_of
from depyf.decompiler.emit.line_breaks import CLOSE, CLOSE_COMMA, ITEM, OPEN, OPERATOR, arrange
from depyf.decompiler.emit.naming import Names
from depyf.decompiler.emit.result import EmitOptions
from depyf.decompiler.emit.scopes import Scope
from depyf.decompiler.ir.expr import BoolOf, Expr, Func, Name, Un
from depyf.decompiler.ir.markers import Marker, place_of
from depyf.decompiler.ir.stmt import Stmt
from depyf.decompiler.ir.walk_expr import LEAVES
from depyf.errors import DecompilationError
from depyf.safety.depth import any_depth, any_depth_of

# How tightly an expression binds; an operand demands at least its operator's level.
TEST, OR, AND, NOT, COMPARE, BITOR, XOR, BITAND, SHIFT, ARITH, TERM, FACTOR, POWER, AWAIT, PRIMARY = range(15)
LOOSE = -1  # yield, an assignment expression, a tuple without parentheses: only where a caller asks for it

ExprPrinter = Callable[["Printer", Any, int], str]
HeadPrinter = Callable[["Printer", Any], str]
BodyPrinter = Callable[["Printer", Any], None]


class _Expressions(dict[type, ExprPrinter]):
    """Raises for markers of lifting, which have no text: the function needs another rung."""

    def __missing__(self, kind: type) -> ExprPrinter:
        def refuse(p: Printer, node: Any, _level: int) -> str:
            place = place_of(node) if isinstance(node, Marker) else "value"
            raise p.fail(f"the {place} {kind.__name__} is left in an expression")

        return refuse


EXPRESSIONS = _Expressions()
HEADS: dict[type, HeadPrinter] = {}
BODIES: dict[type, BodyPrinter] = {}
BLOCKS: dict[type, BodyPrinter] = {}
"""Statements that print all their lines themselves."""
_F = TypeVar("_F", bound=ExprPrinter)


def prints(kind: type) -> Callable[[_F], _F]:
    """Registers the printer of one kind of expression."""

    def register(function: _F) -> _F:
        EXPRESSIONS[kind] = function if kind in LEAVES else any_depth(function)
        return function

    return register


DEFINE: list[Callable[[Printer, str, Func], None]] = []
"""The one function (of ``definitions.py``) that prints a hoisted ``def``."""


class Printer:
    """Collects the lines of one text; see the module docstring."""

    def __init__(self, unit: CodeUnit, options: EmitOptions, shadows: dict[int, dict[str, str]], names: Names) -> None:
        self.unit = unit
        self.options = options
        self.grammar = grammar_of(unit.version)
        self.names = names
        self.shadows = shadows
        self.shadow: dict[str, str] = shadows.get(id(unit), {})
        self.mode = "exec"
        self.whole = False  # a module
        self.consts = BoundConstants(options.const_prefix, self.names)
        self.cells: dict[str, str] = {}
        self.not_equal = "<>" if self.grammar.flufl_in_text and unit.flags & CO_FUTURE_BARRY_AS_FLUFL else "!="
        self.features: dict[str, str] = {}  # features of ``__future__`` that only the text imports, under these names
        self.class_name = ""
        self.spell = self.names.spellings("")
        self.attributes: dict[tuple[str, str], str] = {}
        """What is written after the dot in a class, by class and attribute; "" where nothing can be."""
        self.lines: list[str] = []
        self.sources: list[int | None] = []
        self.starts: list[bool] = []
        self.owners: list[str] = []
        self.pad = ""
        self.step = " " * options.indent
        self.wide = False  # leave marks for layout.arrange
        self.deciding = False  # the expression that comes next only decides where control goes
        self.breaks = False  # the line has to be broken, however short it is
        self.operator = " "
        self.quotes: tuple[str, ...] | None = None  # set inside an f-string before 3.12
        self.outer: tuple[str, ...] = ()  # the quotes of those f-strings
        self.last_resort = False  # bind strings that have no legal quotes there as constants
        self.quote = '"'
        self.scope = Scope("module", unit, None, options.lower)
        self.reads = self.scope.reads
        self.hoisted: dict[int, str] = {}
        self.pending: list[tuple[str, Func]] = []
        self.definitions: list[
            tuple[CodeUnit, int, int]
        ] = []  # of ``lines``, where each ``def`` and ``class`` begins and ends
        self.blank = 0  # blank lines owed before the next statement
        self.fresh_block = True
        self.labelled = False
        self.text_annotations = bool(unit.flags & CO_FUTURE_ANNOTATIONS)
        self._temp_prefix = ""
        self._whole_lines: tuple[CodeUnit, frozenset[int]] | None = None

    # Expressions.

    def expr(self, node: Expr, level: int = TEST) -> str:
        return EXPRESSIONS[type(node)](self, node, level)

    def paren(self, text: str) -> str:
        return f"({OPEN}{text}{CLOSE})" if self.wide else f"({text})"

    def test(self, node: Expr, level: int = TEST) -> str:
        """An expression that only decides where control goes."""
        self.decide(node)
        return self.expr(node, level)

    def decide(self, node: Expr) -> None:
        """Announce that the next expression to be printed is a test."""
        self.deciding = isinstance(node, (BoolOf, Un))

    def listed(self, items: list[str], comma: bool = True) -> str:
        """The inside of a bracket."""
        if self.wide and items:
            return OPEN + f",{ITEM}".join(items) + (CLOSE_COMMA if comma else CLOSE)
        return ", ".join(items)

    def inner(self, text: str) -> str:
        """The inside of a bracket that is no list."""
        return OPEN + text + CLOSE if self.wide else text

    def spelled(self, name: str) -> str:
        """How ``name`` is written here."""
        found = self.spell.get(name)
        return found if found is not None else self.names.spell(name, self.class_name)

    def temp(self, key: object) -> str:
        if not self._temp_prefix:
            self._temp_prefix = self.names.free_prefix(self.options.temp_prefix)
        return f"{self._temp_prefix}{key}"

    def bound_const(self, value: Any) -> str:
        return self.consts.name(value, bool(self.class_name))

    def fail(self, reason: str) -> DecompilationError:
        return DecompilationError(reason, self.unit.qualname or self.unit.name)

    # Scopes.

    def enter(self, kind: str, unit: CodeUnit | None) -> Scope:
        """Open a scope; give the result of this call to ``leave``."""
        outer = self.scope
        self.scope = Scope(kind, unit, outer, self.options.lower)
        self.reads = self.scope.reads
        if unit is not None:
            self.unit = unit
            self.shadow = self.shadows.get(id(unit), {})
        return outer

    def expr_in(self, scope: Scope | None, node: Expr) -> str:
        """An expression as a part of ``scope``; None is the present one."""
        inner, self.scope = self.scope, scope or self.scope
        self.reads = self.scope.reads
        text = self.expr(node)
        self.scope, self.reads = inner, inner.reads
        return text

    def leave(self, outer: Scope, unit: CodeUnit) -> None:
        if self.scope is not outer:
            self.scope.parent = None  # it is closed; a cycle would keep all scopes until the collector comes
        self.scope = outer
        self.reads = outer.reads
        self.unit = unit
        self.shadow = self.shadows.get(id(unit), {})

    def shadowed(self, name: Name) -> str:
        """The name itself, or its stand-in where it is a global that a variable of the function hides."""
        return self.shadow.get(name.id, name.id) if name.scope == "global" else name.id

    def store(self, name: Name) -> str:
        """Record that ``name`` is bound here and return its spelling."""
        ident = self.shadowed(name)
        self.scope.stores[name.scope].add(ident)
        return self.spelled(ident)

    def bind(self, name: str) -> str:
        """``store`` for a name that is a plain string in the tree."""
        self.scope.bind(name)
        return self.spelled(name)

    # Statements.

    def head(self, make: HeadPrinter, node: Any, line: int | None, starts: bool = True, hoist: bool = True) -> None:
        """Print one logical line, broken if it is too long, after the functions that had to be hoisted out of it.

        ``hoist`` is false where nothing can be put before the line.
        """
        self.breaks = False
        text = make(self, node)
        options = self.options
        if (self.breaks or self.too_long(text)) and line not in self._kept_whole():
            self.wide, self.operator = True, OPERATOR
            try:
                text = arrange(make(self, node), len(self.pad), options.width, options.indent, options.shown)
            finally:
                self.wide, self.operator = False, " "
        if self.pending:
            if not hoist:
                raise self.fail("a function that is no lambda is made where no statement can be put")
            pending, self.pending = self.pending, []
            for name, func in pending:
                DEFINE[0](self, name, func)
        self.line(text, line, starts)

    def _kept_whole(self) -> frozenset[int]:
        """Lines of the original that another layout would compile to other jumps."""
        if self._whole_lines is None or self._whole_lines[0] is not self.unit:
            self._whole_lines = self.unit, unthreaded_lines(self.unit)
        return self._whole_lines[1]

    def too_long(self, text: str) -> bool:
        """Whether ``text`` is longer than a line once its names are shown as others."""
        options = self.options
        length = len(text) + len(self.pad)
        if options.shown:
            length -= sum(text.count(name) * (len(name) - len(other)) for name, other in options.shown)
        return length > options.width

    def line(self, text: str, line: int | None, starts: bool = True) -> None:
        if self.blank:
            if not self.fresh_block:
                for _ in range(self.blank):
                    self.raw("")
            self.blank = 0
        self.fresh_block = False
        self.lines.append(self.pad + text)
        self.sources.append(line)
        self.starts.append(starts)
        self.owners.append(self.unit.qualname)

    def raw(self, text: str) -> None:
        self.lines.append(text)
        self.sources.append(None)
        self.starts.append(False)
        self.owners.append(self.unit.qualname)

    def block(self, body: tuple[Stmt, ...], filled: bool = False) -> None:
        """An indented suite; ``pass`` if there is nothing in it."""
        outer = self.pad
        self.pad = outer + self.step
        self.fresh_block = True
        before = len(self.lines)
        self.statements(body)
        if len(self.lines) == before and not filled:
            self.line("pass", None, False)
        self.pad = outer
        self.fresh_block = False

    @any_depth_of(2)
    def statements(self, body: tuple[Stmt, ...]) -> None:
        for node in body:
            kind = type(node)
            whole = BLOCKS.get(kind)
            if whole is not None:
                whole(self, node)
                continue
            self.head(HEADS[kind], node, node.line)
            nested = BODIES.get(kind)
            if nested is not None:
                nested(self, node)

    def reserve(self) -> None:
        """Reserve a place for the declarations of the current scope."""
        self.scope.slot = len(self.lines)
        self.scope.pad = self.pad
        self.raw("\0")
