"""Inlines values of generated code where they are used, and drops the variables that become unused.

    tmp_3 = __import_torch.record_enter
    tmp_4 = tmp_3(); value_0 = self.weight        tmp_4 = __import_torch.record_enter()
    tmp_5 = __import_torch.record_exit      ->    __import_torch.record_exit(tmp_4)
    tmp_5(tmp_4)                                  return __compiled_fn(x, self.weight)[0]
    graph_out_0 = __compiled_fn(x, value_0)
    value_1 = graph_out_0[0]; del graph_out_0; return value_1

Input and output: the Python dialect, before temporaries are released.  Besides the temporaries, the variables that the
program added for itself (``GeneratorContract.variables``) take part.  ``effects`` says what may change places; a
mistake here is found by the proof, and the next rung of the ladder leaves the code as it was lifted.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from depyf.decompiler.bytecode.variables.spelling import is_legal
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.generated.effects import (
    EVENT,
    PURE,
    READ,
    Effects,
    Variable,
    conditional,
    in_order,
    variable,
    width,
)
from depyf.decompiler.generated.usage import Usage
from depyf.decompiler.ir.expr import Attr, Const, DictOf, Display, Expr, Invoke, Name, Sub, TempKey, Walrus
from depyf.decompiler.ir.stmt import Assign, Body, Delete, ExprStmt, For, If, Raise, Return, Stmt, While
from depyf.decompiler.ir.transformer import Transformer
from depyf.decompiler.ir.walk_expr import children, map_expressions
from depyf.decompiler.ir.walk_stmt import bodies, walk, with_bodies
from depyf.safety.depth import any_depth
from depyf.safety.rewrites import step

_ROUNDS = 12
_LINE = 92
_SHORT = 40


def inline_values(body: Body, promises: GeneratorContract, held: frozenset[TempKey] = frozenset()) -> Body:
    """``body`` with fewer variables, and the same operations in an order that means the same; the temporaries ``held``
    stay, although nothing reads them or something lets go of them."""
    for _ in range(_ROUNDS):
        work = _Round(body, promises, held)
        body = work.copies(body)
        if not work.changed:
            body = work.moves(body)
        if not work.changed:
            break
    return body


class _Round:
    """One pass over a body; ``changed`` says whether another one may find more."""

    def __init__(self, body: Body, promises: GeneratorContract, held: frozenset[TempKey]) -> None:
        self.held = {("temp", key) for key in held}
        self.usage = Usage(body)
        once = {name: value for name, value in self.usage.values.items() if self.usage.writes[name] == 1}
        self.effects = Effects(promises, once)
        self.added = promises.variables or frozenset()
        self.gone: set[Variable] = set()
        self.changed = False
        self.early = True
        self.loops = any(isinstance(stmt, (For, While)) for stmt in walk(body))

    def ours(self, name: Variable | None) -> bool:
        """A temporary, or a variable that the program added."""
        return name is not None and (name[0] == "temp" or name[1] in self.added)

    def bound(self, stmt: Stmt) -> Variable | None:
        """The temporary or generator's variable that ``stmt`` binds, where nothing else binds it."""
        if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
            return None
        name = variable(stmt.targets[0])
        return name if self.ours(name) and name is not None and self.usage.writes[name] == 1 else None

    # Copies of lasting values, and unread values.

    def copies(self, body: Body) -> Body:
        """Replace variables that hold a constant, another variable or a fixed object; drop unread ones."""
        values: dict[Variable, Expr] = {}
        for stmt in body:
            name = self.bound(stmt)
            if name is None or not isinstance(stmt, Assign):
                continue
            if not self.usage.reads[name]:
                if self.effects.of(stmt.value) == PURE and name not in self.held:
                    self.gone.add(name)
            elif self._lasts(name, stmt.value):
                values[name] = stmt.value
                step("replace a variable by its value", stmt)
        for name in list(values):
            source = variable(values[name])
            if source is not None and (source in values or source in self.gone):
                del values[name]  # in the next round

        def change(node: Expr) -> Expr:
            found = variable(node)
            return spelled(node) if found is None else values.get(found, node)

        self.gone |= values.keys()
        if not self.gone:
            return self._without_idle(body)
        return self._without_idle(tuple(map_expressions(stmt, change) for stmt in _WithoutGone(self).run(body)))

    def _lasts(self, name: Variable, value: Expr) -> bool:
        """Whether ``value`` may stand wherever ``name`` does."""
        if isinstance(value, Const):
            return True
        if isinstance(value, Name) and value.scope == "global":
            return self.effects.of(value) == PURE
        if isinstance(value, Attr):
            return self.effects.of(value) == PURE and (name[0] == "temp" or self.usage.reads[name] == 1)
        if isinstance(value, Sub):
            return self.effects.of(value) == PURE and isinstance(value.value, Name) and value.value.scope == "global"
        if isinstance(value, (Display, DictOf)) and self.usage.reads[name] == 1 and not self.loops:
            return self.effects.of(value) == PURE and not any(variable(node) for node in in_order(value))
        source = variable(value)
        if source is None or self.usage.deletes[source]:
            return False
        if self.ours(source):
            return self.usage.writes[source] == 1 and (source[0] == "name" or name[0] == "temp")
        return not self.usage.writes[source] and not self.usage.opaque

    def _without_idle(self, body: Body) -> Body:
        """``x = x`` does nothing, nor does ``[x]``."""
        kept = tuple(
            stmt
            for stmt in body
            if not (
                isinstance(stmt, Assign)
                and len(stmt.targets) == 1
                and variable(stmt.value) is not None
                and variable(stmt.value) == variable(stmt.targets[0])
                or isinstance(stmt, ExprStmt)
                and self.effects.of(stmt.value) == PURE
                and not (isinstance(stmt.value, Const) and isinstance(stmt.value.value, str))
            )
        )
        self.changed = self.changed or len(kept) < len(body)
        return kept

    # Values that are used once.

    def moves(self, body: Body) -> Body:
        """Compute values that are used once at their use."""
        body = self._block(body)
        return _WithoutGone(self).run(body) if self.changed else body

    @any_depth
    def _block(self, body: Body) -> Body:
        out: list[Stmt] = []
        body = self._deletions_last(self._released_by_return(body))
        for position, whole in enumerate(body):
            stmt: Stmt | None = whole
            while stmt is not None and (moved := self._pull(out, stmt, body[position + 1 :])) is not None:
                self.changed = True
                stmt = moved[0]
            if stmt is None:
                continue
            self.early = self.early and self._grade(stmt) != EVENT
            out.append(with_bodies(stmt, self._block) if bodies(stmt) else stmt)
        return tuple(out)

    def _grade(self, stmt: Stmt) -> int:
        """The grade of a statement, apart from the variables that it binds."""
        found = PURE
        for part in operands(stmt):
            found = max(found, self.effects.of(part))
        if isinstance(stmt, (Assign, Delete)):
            if any(variable(target) is None for target in stmt.targets):
                found = EVENT
        elif not isinstance(stmt, (ExprStmt, Return)):
            found = EVENT
        return found if found == PURE or self.early else EVENT

    def _released_by_return(self, body: Body) -> Body:
        """What is deleted just before a return that does nothing else is released by the return."""
        if not body or not isinstance(body[-1], Return) or self._grade(body[-1]) != PURE:
            return body
        start = len(body) - 1
        while start and self._grade(body[start - 1]) == PURE and not bodies(body[start - 1]):
            start -= 1
        tail = [
            s for s in body[start:] if not (isinstance(s, Delete) and all(self.ours(variable(t)) for t in s.targets))
        ]
        self.changed = self.changed or len(tail) < len(body) - start
        return (*body[:start], *tail)

    def _deletions_last(self, body: Body) -> Body:
        """Deletions of our variables after the statements without effect that follow them."""
        out: list[Stmt] = []
        waiting: list[Delete] = []
        for stmt in body:
            mine = isinstance(stmt, Delete) and all(self.ours(variable(target)) for target in stmt.targets)
            if isinstance(stmt, Delete) and mine:
                waiting.append(stmt)
                continue
            if waiting and (bodies(stmt) or self._grade(stmt) != PURE or isinstance(stmt, (Delete, Return))):
                out.extend(waiting)
                waiting.clear()
            out.append(stmt)
        return (*out, *waiting)

    def _pull(self, out: list[Stmt], stmt: Stmt, rest: Body) -> tuple[Stmt | None] | None:
        """Take values computed in ``out`` into ``stmt``; None instead of the statement where it joined one of those."""
        use = _Use(stmt, self)
        if not use.wanted:
            return None
        moved: dict[Variable, Expr] = {}
        named: dict[Expr, Expr] = {}
        crossed, touched, releases = PURE, set[Variable](), False
        for at in range(len(out) - 1, -1, -1):
            if not use.wanted:
                break
            before = out[at]
            if bodies(before):
                crossed = EVENT
                touched |= _touched(before)
                continue
            name = self.bound(before)
            if name in use.wanted and name is not None and isinstance(before, Assign):
                use.wanted.discard(name)
                if self._may_move(name, before.value, use, crossed, touched) and self._lets_go(name, use, rest):
                    grade = self.effects.of(before.value)
                    if not releases or grade == PURE:
                        del out[at]
                        moved[name] = before.value
                        step("move a value to its use", before)
                        use.take(name, before.value, grade)
                        continue
                    if crossed == PURE and not moved and self._needs_only(stmt, name):
                        out[at] = self._put({name: before.value}, stmt)  # only deletions stand in between
                        return (None,)
            if name in use.again and isinstance(before, Assign) and not releases and name is not None:
                place, target = use.again[name], before.targets[0]
                if (
                    isinstance(target, Name)
                    and self._waits(out[:at], use)
                    and self._may_bind(name, before.value, use, crossed, touched, out[at + 1 :])
                ):
                    del out[at]
                    named[place] = Walrus(target, before.value)
                    use.take(name, before.value, self.effects.of(before.value))
                    continue
            if isinstance(before, ExprStmt) and self.effects.is_mark(before.value):
                continue
            crossed = max(crossed, self._grade(before))
            if isinstance(before, (Assign, Delete)):
                if any((bound := variable(target)) is not None and not self.ours(bound) for target in before.targets):
                    crossed = max(crossed, READ)  # whatever happens can see the user's variables
                releases = releases or isinstance(before, Delete)
                touched |= {found for target in before.targets if (found := variable(target)) is not None}
        return (self._put(moved, stmt, named),) if moved or named else None

    def _waits(self, out: list[Stmt], use: _Use) -> bool:
        """Whether a temporary of the statement can only be computed in it if what follows in ``out`` is too.

        Reading what is called may be a statement: the call holds it as long as the variable does."""
        return any(
            (name := self.bound(stmt)) in use.wanted
            and name is not None
            and name[0] == "temp"
            and isinstance(stmt, Assign)
            and (name != use.called or self.effects.of(stmt.value) == EVENT)
            and self.effects.of(stmt.value) > (READ if self.early else PURE)
            for stmt in out
        )

    def _may_bind(
        self, name: Variable, value: Expr, use: _Use, crossed: int, touched: set[Variable], between: list[Stmt]
    ) -> bool:
        """Whether a variable that lasts longer may be bound where the statement first reads it.

        Only a value whose computation would hold back what stands before it."""
        if self.effects.of(value) == PURE or any(
            variable(node) == name for stmt in between for part in operands(stmt) for node in in_order(part)
        ):
            return False
        return not any(bodies(stmt) for stmt in between) and self._may_move(name, value, use, crossed, touched)

    def _may_move(self, name: Variable, value: Expr, use: _Use, crossed: int, touched: set[Variable]) -> bool:
        """Whether ``value`` may be evaluated where ``name`` is read, ``crossed`` after where it stands."""
        if any(conditional(node) or variable(node) in touched for node in in_order(value)):
            return False
        passed = max(use.before(name), crossed)
        own = self.effects.of(value)
        if own != PURE and passed != PURE and not (self.early and own == passed == READ):
            return False
        return use.fits(name, value)

    def _lets_go(self, name: Variable, use: _Use, rest: Body) -> bool:
        """Whether the original releases the variable, or leaves the function, before anything else happens."""
        if name[0] == "temp":
            return True
        if isinstance(use.stmt, Return):
            return not use.does or (
                len(use.does) == 1
                and use.does[0] is use.stmt.value
                and any(variable(child) == name for child in children(use.stmt.value))
            )
        if use.does or self._grade(use.stmt) != PURE:
            return False
        for after in rest:
            if isinstance(after, Delete) and any(variable(target) == name for target in after.targets):
                return True
            if self._grade(after) != PURE:
                return False
            if isinstance(after, Return):
                return True
        return False

    def _needs_only(self, stmt: Stmt, name: Variable) -> bool:
        """Whether ``stmt`` binds such a variable to a value computed from ``name`` alone, without an effect."""
        if self.bound(stmt) is None or self._grade(stmt) != PURE:
            return False
        return all(variable(node) in (None, name) for part in operands(stmt) for node in in_order(part))

    def _put(self, moved: dict[Variable, Expr], stmt: Stmt, named: Mapping[Expr, Expr] = MappingProxyType({})) -> Stmt:
        self.gone |= moved.keys()

        def change(node: Expr) -> Expr:
            if node in named:
                return named[node]
            name = variable(node)
            return spelled(node) if name is None else moved.get(name, node)

        new: Stmt = map_expressions(stmt, change)
        target = self.bound(new)
        if target is not None and isinstance(new, Assign):
            self.effects.learn(target, new.value)
        return new


class _Use:
    """A statement that reads such variables: what it does in which order, and how wide it is."""

    def __init__(self, stmt: Stmt, work: _Round) -> None:
        self.stmt = stmt
        self.operands = operands(stmt)
        self.nodes = [node for part in self.operands for node in in_order(part)]
        mine = [(name, at) for at, node in enumerate(self.nodes) if (name := variable(node)) and work.ours(name)]
        self.at = {name: at for name, at in mine if work.usage.reads[name] == 1 and name not in work.held}
        self.wanted = set(self.at)
        self.again: dict[Variable, Expr] = {}
        """Variables that the program added, and may keep -> their first place in the statement."""
        for name, at in mine:
            if name[0] == "name" and name not in self.again:
                self.again[name] = self.nodes[at]
                self.at[name] = at
        self.grades = [work.effects.own(node) for node in self.nodes] if self.wanted else []
        self.does: list[Expr | None] = [node for node, grade in zip(self.nodes, self.grades) if grade != PURE]
        call = stmt.value if isinstance(stmt, (Assign, ExprStmt, Return)) else None
        self.called = variable(call.func) if isinstance(call, Invoke) else None
        self._width = -1

    def before(self, name: Variable) -> int:
        """The grade of what happens in the statement before it reads ``name``."""
        return max(self.grades[: self.at[name]], default=PURE)

    def take(self, name: Variable, value: Expr, grade: int) -> None:
        """Replace ``name`` by ``value``."""
        self.grades[self.at[name]] = grade
        if grade != PURE:
            self.does.append(None)
        if self._width >= 0:
            self._width += width(value)

    def fits(self, name: Variable, value: Expr) -> bool:
        """Whether the line stays readable with ``value``.  The arguments of a long call have separate lines."""
        long = width(value)
        if long <= _SHORT or any(variable(part) == name for part in self.operands):
            return True
        at = self.at[name]
        around = next((node for node in self.nodes[at + 1 :] if any(c is self.nodes[at] for c in children(node))), None)
        if isinstance(around, (Attr, Sub)):
            return True
        if isinstance(around, (Display, DictOf, Invoke)):  # each operand may have a separate line, and so may its items
            items = children(value) if isinstance(value, (Display, DictOf)) else [value]
            return max(map(width, items), default=0) < _LINE
        if self._width < 0:
            self._width = sum(width(part) for part in self.operands)
        return long + self._width < _LINE


def spelled(node: Expr) -> Expr:
    """Writes ``f(*a, **{"k": b})`` as ``f(*a, k=b)``, and ``f(*a, **{})`` as ``f(*a)``: no dict is copied."""
    if type(node) is not Invoke or not node.keywords:
        return node
    last, mapping = node.keywords[-1]
    if last is not None or not isinstance(mapping, DictOf):
        return node
    names = {name for name, _ in node.keywords}
    added: list[tuple[str | None, Expr]] = []
    for key, value in mapping.items:
        name = key.value if isinstance(key, Const) else None
        if type(name) is not str or not is_legal(name) or name in names:
            return node
        names.add(name)
        added.append((name, value))
    return Invoke(node.func, node.args, (*node.keywords[:-1], *added))


def _touched(stmt: Stmt) -> set[Variable]:
    """The variables that a compound statement binds or deletes."""
    inner = Usage((stmt,))
    return {*inner.writes, *inner.deletes}


class _WithoutGone(Transformer):
    """A body without what binds or deletes a variable that is gone."""

    title = "drop the variable of a value that has moved"

    def __init__(self, work: _Round) -> None:
        self.work = work

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        gone = self.work.gone
        if isinstance(stmt, Delete):
            left = tuple(target for target in stmt.targets if variable(target) not in gone)
            if left:
                done.append(stmt if len(left) == len(stmt.targets) else Delete(left, stmt.line))
                return
        elif not isinstance(stmt, Assign) or self.work.bound(stmt) not in gone:
            done.append(stmt)
            return
        self.work.changed = True


def operands(stmt: Stmt) -> list[Expr]:
    """The expressions a statement evaluates itself, in order; none for a statement that is not looked into."""
    if isinstance(stmt, Assign):
        inner = [child for target in stmt.targets if variable(target) is None for child in children(target)]
        return [stmt.value, *inner]
    if isinstance(stmt, (ExprStmt, Return)):
        return [stmt.value] if stmt.value is not None else []
    if isinstance(stmt, Raise):
        return [part for part in (stmt.exc, stmt.cause) if part is not None]
    if isinstance(stmt, If):
        return [stmt.test]
    return [stmt.iter] if isinstance(stmt, For) and not stmt.is_async else []
