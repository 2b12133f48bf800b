"""What an edit is made of: a way out, the run that needs it, and the files of the program as concrete syntax trees.

Input: texts.  Output: texts in which one thing is changed; comments and layout stay (LibCST, which is imported here and
in the modules beside this one only: the extra ``depyf[fix]``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import libcst as cst
from libcst.metadata import (
    CodeRange,
    ExpressionContext,
    ExpressionContextProvider,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
)

from depyf.run.advice.advice import AdviceUse
from depyf.run.causes.cause import Cause
from depyf.run.places.place import Place
from depyf.run.records import FunctionRecord
from depyf.run.run import Run

_Node = TypeVar("_Node", bound=cst.CSTNode)
Change = Callable[[cst.CSTNode], "cst.CSTNode | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNode]"]


class Tree:
    """The LibCST tree of one file."""

    def __init__(self, text: str) -> None:
        """cst.ParserSyntaxError where the text is not Python."""
        self._wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        self.module = self._wrapper.module
        self._places: Mapping[cst.CSTNode, CodeRange] = self._wrapper.resolve(PositionProvider)
        self._parents: Mapping[cst.CSTNode, cst.CSTNode] = self._wrapper.resolve(ParentNodeProvider)

    def nodes(self, kind: type[_Node], line: int | None = None) -> list[_Node]:
        """The nodes of class ``kind`` in text order; with ``line``, only those that begin on it."""
        found = [node for node in self._places if isinstance(node, kind)]
        found = [node for node in found if line is None or self._places[node].start.line == line]
        return sorted(found, key=lambda node: (self._places[node].start.line, self._places[node].start.column))

    def around(self, line: int, kind: type[_Node]) -> list[_Node]:
        """The nodes of class ``kind`` that contain the line, the innermost first."""
        found = [
            node
            for node, place in self._places.items()
            if isinstance(node, kind) and place.start.line <= line <= place.end.line
        ]
        return sorted(found, key=lambda node: self._places[node].end.line - self._places[node].start.line)

    def line(self, node: cst.CSTNode) -> int:
        return self._places[node].start.line

    def parents(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The ancestors of ``node``, the innermost first."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def inside(self, node: cst.CSTNode, *kinds: type[cst.CSTNode]) -> bool:
        return any(isinstance(parent, kinds) for parent in self.parents(node))

    def statement(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """The line of simple statements that contains ``node``; None in the header of a compound statement."""
        for parent in (node, *self.parents(node)):
            if isinstance(parent, cst.SimpleStatementLine):
                return parent
            if isinstance(parent, cst.BaseCompoundStatement):
                return None
        return None

    def loads(self, name: str) -> list[cst.Name]:
        """Where a variable of that name is read, in any scope."""
        return [node for node in self._variables(ExpressionContext.LOAD) if node.value == name]

    def stores(self, within: cst.CSTNode | None = None) -> list[cst.Name]:
        """The names bound by assignments, parameters, functions, classes and imports; only those in ``within``, if
        given."""
        found = self._variables(ExpressionContext.STORE, ExpressionContext.DEL)
        imports = [node for node in self.nodes(cst.Name) if isinstance(next(self.parents(node)), cst.ImportAlias)]
        return [node for node in (*found, *imports) if within is None or within in self.parents(node)]

    def _variables(self, *contexts: ExpressionContext) -> list[cst.Name]:
        known = self._wrapper.resolve(ExpressionContextProvider)
        found = [node for node in self.nodes(cst.Name) if known.get(node) in contexts]
        return [node for node in found if not self._is_label(node)]

    def _is_label(self, node: cst.Name) -> bool:
        """Whether a name is no variable: a keyword of a call, a part of an import or of ``global``."""
        parent = next(self.parents(node))
        return isinstance(parent, (cst.ImportAlias, cst.NameItem)) or (
            isinstance(parent, cst.Arg) and parent.keyword is node
        )

    def names(self) -> set[str]:
        return {node.value for node in self.nodes(cst.Name)}

    def changed(self, changes: Mapping[cst.CSTNode, Change]) -> str:
        """The text with each of the nodes replaced by what its change makes of it."""
        found = self.module.visit(_Changer(changes))
        return found.code

    def before(self, statement: cst.SimpleStatementLine, lines: Sequence[str]) -> Change:
        """The change that puts ``lines`` before a statement, whose comments stay above all of them."""

        def change(updated: cst.CSTNode) -> cst.FlattenSentinel[cst.CSTNode]:
            assert isinstance(updated, cst.SimpleStatementLine)
            first, *rest = [statement_of(line) for line in lines]
            return cst.FlattenSentinel(
                [first.with_changes(leading_lines=updated.leading_lines), *rest, updated.with_changes(leading_lines=())]
            )

        return change


class _Changer(cst.CSTTransformer):
    def __init__(self, changes: Mapping[cst.CSTNode, Change]) -> None:
        super().__init__()
        self._changes = changes

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        change = self._changes.get(original_node)
        return updated_node if change is None else change(updated_node)  # type: ignore[return-value]


@dataclass(frozen=True)
class EditCase:
    """A cause with one of its ways out, to be made an edit."""

    cause: Cause
    use: AdviceUse
    run: Run
    texts: Mapping[str, str]
    """Path -> text, of the program's own files."""
    main: str
    """The path of the script."""
    trees: dict[str, Tree] = field(default_factory=dict, compare=False)

    def tree(self, path: str) -> Tree | None:
        """The LibCST tree of a file of the program; None for any other file, and for text that LibCST cannot parse."""
        if path not in self.texts:
            return None
        if path not in self.trees:
            try:
                self.trees[path] = Tree(self.texts[path])
            except (cst.ParserSyntaxError, RecursionError):
                return None
        return self.trees[path]

    @property
    def functions(self) -> list[FunctionRecord]:
        """The functions that met the cause, or were compiled because of it."""
        keys = {*self.cause.entries, *self.cause.caused}
        return [one for one in self.run.functions if any(entry.key in keys for entry in one.entries)]

    @property
    def whole_functions(self) -> list[FunctionRecord]:
        """As ``functions``, with each resume function replaced by the function that it continues."""
        known = {one.function: one for one in self.run.functions}
        found = []
        for one in self.functions:
            met: set[tuple[int, str]] = set()
            while one.resume_of in known and one.function not in met:
                met.add(one.function)
                one = known[one.resume_of]
            if one not in found:
                found.append(one)
        return found

    @property
    def callers(self) -> list[Place]:
        """The lines of the program that made the calls for which these functions were compiled."""
        found: dict[tuple[str, int], Place] = {}
        for function in self.whole_functions:
            for entry in function.entries:
                for caller in entry.callers[-1:]:
                    if caller.place.line:
                        found.setdefault((caller.place.filename, caller.place.line), caller.place)
        return list(found.values())


def statement_of(text: str) -> cst.SimpleStatementLine:
    found = cst.parse_statement(text)
    assert isinstance(found, cst.SimpleStatementLine)
    return found


def target_of(text: str) -> cst.BaseAssignTargetExpression:
    """``a, b`` as what is assigned to."""
    small = statement_of(f"{text} = 0").body[0]
    assert isinstance(small, cst.Assign)
    return small.targets[0].target


def dotted(node: cst.CSTNode) -> str:
    """``torch.compile``; "" for what is no dotted name."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr.value}" if owner else ""
    return ""


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def with_argument(call: cst.Call, new: cst.Arg) -> cst.Call:
    """The call with one more argument at its end, laid out as the one before it; comments stay where they are."""
    if not call.args:
        return call.with_changes(args=[new])
    last = call.args[-1]
    comma = last.comma if isinstance(last.comma, cst.Comma) else None
    tail = comma.whitespace_after if comma is not None else last.whitespace_after_arg
    if not isinstance(tail, cst.ParenthesizedWhitespace):  # the bracket stands in the line of the last argument
        between = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        return call.with_changes(args=[*call.args[:-1], last.with_changes(comma=between), new])
    before = call.args[-2].comma if len(call.args) > 1 else None
    start = before.whitespace_after if isinstance(before, cst.Comma) else call.whitespace_before_args
    if not isinstance(start, cst.ParenthesizedWhitespace):
        start = call.whitespace_before_args
    indent = start if isinstance(start, cst.ParenthesizedWhitespace) else tail
    above = tail.with_changes(indent=indent.indent, last_line=indent.last_line)
    below = cst.ParenthesizedWhitespace(indent=tail.indent, last_line=tail.last_line)
    last = last.with_changes(comma=cst.Comma(whitespace_after=above), whitespace_after_arg=cst.SimpleWhitespace(""))
    if comma is not None:
        new = new.with_changes(comma=cst.Comma(whitespace_after=below))
    else:
        new = new.with_changes(whitespace_after_arg=below)
    return call.with_changes(args=[*call.args[:-1], last, new])


def code_of(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def evaluated_first(tree: Tree, node: cst.CSTNode, statement: cst.SimpleStatementLine) -> bool:
    """Whether the node is evaluated, once, and nothing of the statement that does anything is evaluated before."""
    around = [*tree.parents(node)]
    inner = around[: around.index(statement)]
    if any(isinstance(one, (cst.BaseComp, cst.Lambda, cst.IfExp, cst.BooleanOperation)) for one in inner):
        return False
    return len(statement.body) == 1 and not any(
        isinstance(one, (cst.Call, cst.Await, cst.Yield, cst.NamedExpr)) and one not in around
        for one in _before(statement.body[0], node)
    )


def _before(top: cst.CSTNode, end: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes below ``top`` that stand before ``end`` in the text."""
    found: list[cst.CSTNode] = []

    def walk(node: cst.CSTNode) -> bool:
        if node is end:
            return True
        found.append(node)
        return any(walk(child) for child in node.children)

    walk(top)
    return found


def new_name(tree: Tree, name: str) -> str:
    """``name``, or a similar name that does not occur in the file."""
    taken = tree.names()
    names = (f"{name}_{number}" if number else name for number in range(1000))
    return next(one for one in names if one not in taken)
