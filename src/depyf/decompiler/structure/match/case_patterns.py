"""Reads one ``case`` pattern: the inverse of CPython's pattern compiler.

Input: a ``Program``, the place where the test of a case begins, and how much of the stack the case leaves alone.
Output: ``Reading``: what was found out about every part of the subject, where control goes when the pattern matched
and all captures are stored, and where when it did not.

A pattern is code without effects but its tests, so it is executed symbolically along the path on which every test
holds.  Stack values are numbers of subject parts; each test is recorded as a fact about a part.  What a part *is* shows
in what is done to it: dropped (wildcard), stored (capture), unpacked, compared.  A test that fails drops what lies
above the alternative it belongs to and goes to one place for all tests of that alternative; that tells ``|`` from
``as``, which both begin with a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.ir.expr import Attr, Bin, Const, Display, Expr, Name, Un
from depyf.safety.depth import any_depth

SUBJECT = 0
_SCOPES = {
    ops.LOAD_FAST: "fast",
    ops.LOAD_GLOBAL: "global",
    ops.LOAD_NAME: "name",
    ops.LOAD_DEREF: "cell",
    ops.LOAD_CLASSDEREF: "cell",
}
_STORES = frozenset({ops.STORE_FAST, ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF})
_COPY_LENGTH = 8
_MAX_PARTS = 4000


class NoPattern(Exception):
    """The code is not that of a pattern."""


class Fact(NamedTuple):
    """What a test says about a part: ``kind`` and its details (see ``pattern_tree.py``)."""

    part: int
    kind: str
    detail: Any


class Bundle(NamedTuple):
    """A tuple on the stack made by MATCH_CLASS ("attrs") or MATCH_KEYS ("keys", "values") for a part."""

    kind: str
    part: int
    count: int  # type: ignore[assignment]  # tuple.count is not used


Value = int | Bundle | Expr


@dataclass(slots=True)
class _Frame:
    """An alternative: the stack below ``base`` belongs to what is around it; ``fail`` is where its tests go."""

    base: int
    inner: bool
    first: bool = False
    fail: int = NONE


@dataclass(slots=True)
class Reading:
    """A case that was read: ``success`` and ``fail`` (-1 if it cannot fail) are instruction indices."""

    facts: list[Fact]
    success: int
    fail: int
    code: list[int] = field(default_factory=list)

    @property
    def tests(self) -> bool:
        """Whether the reading has a test that an ordinary comparison could not express."""
        kinds = {fact.kind for fact in self.facts} - {"copy"}
        return bool(kinds - {"name", "value", "is"}) or "name" in kinds and len(kinds) > 1


class PatternReader:
    """Reads patterns of one program; part numbers are unique within a reader."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.instrs = program.instrs
        self.parts = 0
        self.facts: list[Fact] = []
        self.code: list[int] = []
        self.handler = NONE
        self.no_choice: set[tuple[int, int]] = set()
        """Where no alternatives begin, by handler: many copies in a row are asked once each, whatever is below them."""

    def read(self, start: int, *, last: bool) -> Reading:
        """The case whose test begins at ``start`` with the subject on top of the stack.

        A case that is not the last one works on a copy and leaves the subject where it is.
        """
        self.parts = SUBJECT
        self.facts = []
        self.code = []
        self.handler = self.program.handler[start]
        frame = _Frame(0 if last else 1, False)
        stack: list[Value] = [SUBJECT]
        at = start
        if not last:
            self._expect(start, ops.COPY, 1)
            stack.append(SUBJECT)
            self.code.append(start)
            at = self.program.next[start]
        at, _ = self._run(at, stack, frame)
        return Reading(self.facts, at, frame.fail, self.code)

    # Execution along the successful path.

    @any_depth
    def _run(self, at: int, stack: list[Value], frame: _Frame) -> tuple[int, list[Value]]:
        storing = False
        while True:
            if len(stack) == frame.base and not frame.inner:
                return at, stack
            if at == NONE or self.program.handler[at] != self.handler or self.parts > _MAX_PARTS:
                raise NoPattern
            instr = self.instrs[at]
            op, arg = instr.op, instr.arg
            if op == ops.JUMP:
                if frame.inner:
                    return at, stack
                at = self.program.jump[at]
                continue
            if frame.inner and (op in _STORES or len(stack) <= frame.base and op == ops.POP):
                return at, stack
            if frame.inner and op in (ops.SWAP, ops.ROT) and len(stack) - arg < frame.base:
                return at, stack
            self.code.append(at)
            if op in _STORES:
                value = stack.pop() if stack else None
                if not isinstance(value, int):
                    raise NoPattern
                self.facts.append(Fact(value, "name", arg))
                storing = True
            elif op == ops.POP:
                stack.pop()
                if len(stack) < frame.base:
                    raise NoPattern
            elif op == ops.SWAP or op == ops.ROT:
                if len(stack) - arg < frame.base:
                    raise NoPattern
                if op == ops.SWAP:
                    stack[-1], stack[-arg] = stack[-arg], stack[-1]
                else:
                    stack.insert(len(stack) - arg, stack.pop())
            elif storing:
                raise NoPattern
            elif op == ops.COPY:
                at = self._copy(at, stack, frame)
                continue
            elif op == ops.MATCH_SEQUENCE or op == ops.MATCH_MAPPING:
                self._fact(stack, -1, "sequence" if op == ops.MATCH_SEQUENCE else "mapping", None)
                at = self._test(self.program.next[at], len(stack), frame)
                continue
            elif op == ops.GET_LEN:
                at = self._length(at, stack, frame)
                continue
            elif op == ops.UNPACK_SEQUENCE or op == ops.UNPACK_EX:
                self._unpack(stack, op, arg)
            elif op == ops.MATCH_CLASS:
                names = self._const(stack.pop())
                kind = stack.pop()
                if not isinstance(kind, Expr) or not isinstance(names, tuple):
                    raise NoPattern
                part = self._fact(stack, -1, "class", (kind, arg, names))
                stack[-1] = Bundle("attrs", part, arg + len(names))
                at = self._not_none(self.program.next[at], len(stack), frame)
                continue
            elif op == ops.MATCH_KEYS:
                keys = self._keys(stack[-1])
                part = self._fact(stack, -2, "keys", keys)
                stack[-1] = Bundle("keys", part, len(keys))
                stack.append(Bundle("values", part, len(keys)))
                at = self._not_none(self.program.next[at], len(stack), frame)
                continue
            elif op == ops.COPY_DICT_WITHOUT_KEYS:
                bundle = stack[-1]
                if not isinstance(bundle, Bundle) or bundle.kind != "keys":
                    raise NoPattern
                stack[-1] = self._child(bundle.part, "rest", None)
            elif op == ops.BUILD_MAP and arg == 0:
                at = self._rest(at, stack)
                continue
            elif op == ops.COMPARE or op == ops.IS:
                value = stack.pop()
                if not isinstance(value, Expr) or arg not in ("==", "is", "is not"):
                    raise NoPattern
                self._fact(stack, -1, "value" if op == ops.COMPARE else "is", value)
                stack.pop()
                at = self._test(self.program.next[at], len(stack), frame, opposite=arg == "is not")
                continue
            elif op == ops.BRANCH and arg in ("none", "not none"):
                self._fact(stack, -1, "is", Const(None))
                stack.pop()
                at = self._branch(at, arg == "none", len(stack), frame)
                continue
            else:
                self._expression(op, arg, stack)
            at = self.program.next[at]

    @any_depth
    def _copy(self, at: int, stack: list[Value], frame: _Frame) -> int:
        """``COPY``: an item taken by index, ``as``, or the first of several alternatives."""
        value = stack[-1] if stack else None
        if self.instrs[at].arg != 1 or not isinstance(value, (int, Bundle)):
            raise NoPattern
        item = self._item(at, value, stack)
        if item is not None:
            return item
        if not isinstance(value, int):
            raise NoPattern
        facts, code, parts, fail = len(self.facts), len(self.code), self.parts, frame.fail
        try:
            return self._alternatives(at, stack, frame)
        except NoPattern:
            del self.facts[facts:], self.code[code:]
            self.parts, frame.fail = parts, fail
        self.facts.append(Fact(value, "copy", None))
        stack.append(value)
        return self.program.next[at]

    def _item(self, at: int, value: Value, stack: list[Value]) -> int | None:
        """``subject[i]`` or ``subject[len(subject) - i]``, of a sequence with a wildcard star (or 3.10 results)."""
        program, instrs = self.program, self.instrs
        code = [at]
        for _ in range(4):
            following = program.next[code[-1]]
            if following == NONE:
                return None
            code.append(following)
        operations = [instrs[i].op for i in code]
        if operations[1:3] == [ops.LOAD_CONST, ops.SUBSCR] and isinstance(instrs[code[1]].arg, int):
            index, used = instrs[code[1]].arg, 3
        elif operations[1:4] == [ops.GET_LEN, ops.LOAD_CONST, ops.BINARY] and isinstance(instrs[code[2]].arg, int):
            end = program.next[code[4]] if operations[4] == ops.SUBSCR else NONE
            if instrs[code[3]].arg != "-" or end == NONE:
                return None
            index, used = -instrs[code[2]].arg, 5
        else:
            return None
        self.code.extend(code[1:used])
        if isinstance(value, Bundle):
            stack.append(self._child(value.part, value.kind + " item", index))
        else:
            assert isinstance(value, int)
            stack.append(self._child(value, "item", index))
        return program.next[code[used - 1]]

    @any_depth
    def _alternatives(self, at: int, stack: list[Value], frame: _Frame) -> int:
        """``a | b | ...``: each works on a copy of the part on top, and leaves its captures there."""
        program = self.program
        subject = stack[-1]
        assert isinstance(subject, int)
        base = len(stack)
        if (at, self.handler) in self.no_choice:
            raise NoPattern
        facts, self.facts = self.facts, []
        found: list[tuple[int, list[Fact]]] = []
        captures: list[list[Value]] = []
        end = NONE
        position = at
        try:
            while True:
                self._expect(position, ops.COPY, 1)
                if program.handler[position] != self.handler:
                    raise NoPattern
                self.code.append(position)
                copy = self._part()
                inner = _Frame(base, True, not found)
                after, left = self._run(program.next[position], [*stack, copy], inner)
                after = program.follow(after)
                if found and not same_place(program, end, after):
                    raise NoPattern
                end = after if not found else min(end, after)
                found.append((copy, self.facts))
                self.facts = []
                captures.append(left[base:])
                position = inner.fail
                if position == NONE or self.instrs[position].op == ops.POP:
                    break
        except NoPattern:
            self.no_choice.add((at, self.handler))
            raise
        finally:
            self.facts = facts
        if len(found) < 2 or len({len(values) for values in captures}) != 1:
            raise NoPattern
        if position != NONE:
            self._fails(position, base, frame)
        joined: list[Value] = []
        for values in zip(*captures, strict=True):
            if not all(isinstance(value, int) for value in values):
                raise NoPattern
            joint = self._part()
            self.facts.append(Fact(joint, "joint", values))
            joined.append(joint)
        self.facts.append(Fact(subject, "or", tuple(found)))
        stack.extend(joined)
        return end

    def _length(self, at: int, stack: list[Value], frame: _Frame) -> int:
        constant = self.program.next[at]
        compare = self.program.next[constant]
        if self.instrs[constant].op != ops.LOAD_CONST or self.instrs[compare].op != ops.COMPARE:
            raise NoPattern
        self.code.extend((constant, compare))
        self._fact(stack, -1, "length", (self.instrs[compare].arg, self.instrs[constant].arg))
        return self._test(self.program.next[compare], len(stack), frame)

    def _unpack(self, stack: list[Value], op: str, arg: Any) -> None:
        value = stack.pop()
        count, star = (arg, -1) if op == ops.UNPACK_SEQUENCE else (arg[0] + 1 + arg[1], arg[0])
        if isinstance(value, Bundle):
            if op != ops.UNPACK_SEQUENCE or value.count != count or value.kind == "keys":
                raise NoPattern
            items = [self._child(value.part, value.kind + " item", i) for i in range(count)]
        elif isinstance(value, int):
            items = [self._part() for _ in range(count)]
            self.facts.append(Fact(value, "unpack", (star, tuple(items))))
        else:
            raise NoPattern
        stack.extend(reversed(items))

    def _rest(self, at: int, stack: list[Value]) -> int:
        """``dict(subject)`` less its keys, inline: [subject, keys] -> [rest]."""
        keys, subject = stack[-1], stack[-2] if len(stack) > 1 else None
        if not isinstance(keys, Bundle) or keys.kind != "keys" or keys.part != subject:
            raise NoPattern
        wanted: list[tuple[str, Any]] = [(ops.SWAP, 3), (ops.DICT_UPDATE, 2), (ops.UNPACK_SEQUENCE, keys.count)]
        for left in range(keys.count, 0, -1):
            wanted += [(ops.COPY, 1 + left), (ops.SWAP, 2), (ops.DELETE_SUBSCR, None)]
        at = self.program.next[at]
        for op, arg in wanted:
            instr = self.instrs[at]
            if instr.op != op or (op in (ops.SWAP, ops.COPY, ops.UNPACK_SEQUENCE) and instr.arg != arg):
                raise NoPattern
            self.code.append(at)
            at = self.program.next[at]
        stack[-2:] = [self._child(keys.part, "rest", None)]
        return at

    def _expression(self, op: str, arg: Any, stack: list[Value]) -> None:
        """Operands of tests: constants and dotted names."""
        top = stack[-1] if stack else None
        if op == ops.LOAD_CONST and not isinstance(arg, CodeUnit):
            stack.append(Const(arg))
        elif op in _SCOPES:
            stack.append(Name(arg, _SCOPES[op]))
        elif op == ops.LOAD_ATTR and isinstance(top, (Name, Attr)):
            stack[-1] = Attr(top, arg)
        elif op == ops.UNARY and arg == "-" and isinstance(top, Const):
            stack[-1] = Un(arg, top)
        elif op == ops.BINARY and arg in ("+", "-") and isinstance(top, Expr):
            left = stack[-2]
            if not isinstance(left, Expr):
                raise NoPattern
            stack[-2:] = [Bin(arg, left, top)]
        elif op == ops.BUILD_TUPLE and arg <= len(stack):
            items = tuple(item for item in stack[len(stack) - arg :] if isinstance(item, Expr))
            if len(items) != arg:
                raise NoPattern
            del stack[len(stack) - arg :]
            stack.append(Display("tuple", items))
        else:
            raise NoPattern

    # Tests and where they go.

    def _test(self, at: int, depth: int, frame: _Frame, *, opposite: bool = False) -> int:
        """Where control goes on when the pattern has matched so far, which makes the test false if ``opposite``."""
        instr = self.instrs[at] if at != NONE else None
        if instr is None or instr.op != ops.BRANCH or instr.arg not in ("true", "false"):
            raise NoPattern
        self.code.append(at)
        return self._branch(at, (instr.arg == "true") != opposite, depth, frame)

    def _not_none(self, at: int, depth: int, frame: _Frame) -> int:
        """``COPY 1`` and the test that the copy is not None: one operation, or a comparison (3.10; Dynamo on 3.11)."""
        self._expect(at, ops.COPY, 1)
        test = self.program.next[at]
        self.code.extend((at, test))
        instr = self.instrs[test]
        if instr.op == ops.BRANCH and instr.arg in ("none", "not none"):
            return self._branch(test, instr.arg == "not none", depth, frame)
        compare = self.program.next[test]
        if instr.op != ops.LOAD_CONST or instr.arg is not None or self.instrs[compare].op != ops.IS:
            raise NoPattern
        self.code.append(compare)
        return self._test(self.program.next[compare], depth, frame, opposite=self.instrs[compare].arg == "is")

    def _branch(self, at: int, jumps_on_success: bool, depth: int, frame: _Frame) -> int:
        after, taken = self.program.next[at], self.program.jump[at]
        success, failure = (taken, after) if jumps_on_success else (after, taken)
        self._fails(failure, depth, frame)
        return success

    def _fails(self, at: int, depth: int, frame: _Frame) -> None:
        """A failed test drops what lies above the base of its alternative; all of them then go to one place."""
        program = self.program
        at = program.follow(at)
        for _ in range(depth - frame.base):
            if at == NONE or self.instrs[at].op != ops.POP:
                raise NoPattern
            at = program.follow(program.next[at])
        if at == NONE:
            raise NoPattern
        if frame.fail == NONE:
            frame.fail = at
            following = self.instrs[at].op
            if frame.inner and following != ops.COPY and (frame.first or following != ops.POP):
                raise NoPattern
        elif not same_place(program, frame.fail, at):
            raise NoPattern

    # Small helpers.

    def _expect(self, at: int, op: str, arg: Any) -> None:
        if at == NONE or self.instrs[at].op != op or self.instrs[at].arg != arg:
            raise NoPattern

    def _part(self) -> int:
        self.parts += 1
        return self.parts

    def _child(self, part: int, kind: str, detail: Any) -> int:
        child = self._part()
        self.facts.append(Fact(part, kind, (detail, child)))
        return child

    def _fact(self, stack: list[Value], position: int, kind: str, detail: Any) -> int:
        part = stack[position] if len(stack) >= -position else None
        if not isinstance(part, int):
            raise NoPattern
        self.facts.append(Fact(part, kind, detail))
        return part

    def _const(self, value: Value) -> Any:
        if not isinstance(value, Const):
            raise NoPattern
        return value.value

    def _keys(self, value: Value) -> tuple[Expr, ...]:
        if isinstance(value, Const) and isinstance(value.value, tuple):
            return tuple(Const(key) for key in value.value)
        if isinstance(value, Display):
            return value.elts
        raise NoPattern


def same_place(program: Program, left: int, right: int) -> bool:
    """Whether two places are the same, or copies of one short exit (same operations on the same lines)."""
    for _ in range(_COPY_LENGTH):
        left, right = program.follow(left), program.follow(right)
        if left == right:
            return True
        if left == NONE or right == NONE:
            return False
        a, b = program.instrs[left], program.instrs[right]
        if a.op != b.op or repr(a.arg) != repr(b.arg) or program.jump[left] != program.jump[right]:
            return False
        if a.line != b.line and not (a.op in (ops.LOAD_CONST, ops.RETURN) and a.arg is None):
            return False
        left, right = program.next[left], program.next[right]
    return False
