"""Random goto programs for the fuzzer: blocks of many kinds of operations in any order, which know only how deep the stack is.

The plainest way to make random bytecode, and unlike the other generators' on purpose: no contexts, no kinds of slots.  A
block is entered at some depth and ends in a jump, a test, a step of an iterator, a ``return`` or a ``raise``, each edge
with the pops and pushes that bring the stack to the depth of its target.  Exception table entries cover any run of blocks
as deep as they keep.  A counter of steps, a local variable, ends every run; the operations raise whatever they raise.
"""

from __future__ import annotations

import random
import types
from dataclasses import dataclass, field

from tools.fuzz.bytecode import assembler
from tools.fuzz.bytecode.assembler import Item, Label, Op, Protection

FIRST = 500_000
"""The number of the first of these programs."""
VERSION = assembler.VERSION
LOCALS = ("a", "b", "c", "d", "e")
FUEL = 5
"""The slot of the counter, after the parameters."""
STEPS = 40
BINARY = tuple(kind for kind in range(26) if kind % 13 not in (3, 5, 8))
"""All but those that make numbers grow without end."""
ATTRIBUTES = ("real", "append", "x", "__class__")

TAKES = {
    "POP_TOP": 1, "STORE_FAST": 1, "UNARY_NEGATIVE": 1, "UNARY_INVERT": 1, "NEGATE": 1, "TO_BOOL": 1, "GET_ITER": 1,
    "LOAD_ATTR": 1, "UNPACK_SEQUENCE": 1, "UNPACK_EX": 1, "BINARY_OP": 2, "COMPARE": 2, "IS_OP": 2, "CONTAINS_OP": 2,
    "SUBSCRIPT": 2, "STORE_ATTR": 2, "STORE_SUBSCR": 3, "SWAP": -1, "BUILD_LIST": -1, "BUILD_TUPLE": -1, "BUILD_SET": -1,
    "BUILD_MAP": -2, "BUILD_SLICE": -1, "FORMAT_SIMPLE": 1, "FORMAT_VALUE": 1, "CONVERT_VALUE": 1, "LOAD_METHOD": 1,
    "MATCH_SEQUENCE": 1, "MATCH_MAPPING": 1, "JUMP_IF_FALSE_OR_POP": 1, "JUMP_IF_TRUE_OR_POP": 1, "STORE_GLOBAL": 1,
    "DELETE_SUBSCR": 2, "BUILD_CONST_KEY_MAP": 3, "BUILD_STRING": -1, "BINARY_SLICE": 3,
}  # fmt: skip
"""How many slots an operation takes or moves; negative: for each one that its argument counts."""
EFFECTS = {"POP_TOP": -1, "PUSH_CALLABLE": 2, "LOAD_CONST": 1, "LOAD_FAST": 1, "LOAD_FAST_CHECK": 1, "COPY": 1}
"""What comes before another operation in what ``Program.operation`` writes."""


def _template(t, a, b, c, items):  # type: ignore[no-untyped-def]
    fuel = 0
    d = e = fuel
    global g
    return d, e, t.real, t.append, t.x, t.__class__, t.count, ValueError, Exception, len, g


NAMES = _template.__code__.co_names
VARNAMES = _template.__code__.co_varnames


@dataclass(eq=False)
class Block:
    number: int
    depth: int
    label: Label = field(default_factory=Label)
    handler: Protection | None = None


class Program:
    """Builds one random code object."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.consts: list[object] = [None]
        self.items: list[Item] = []
        self.protection: Protection | None = None
        self.calls = 0
        self.deepest = 8
        self.late: list[tuple[Label, int, Block]] = []

    def const(self, value: object) -> int:
        for i, known in enumerate(self.consts):
            if type(known) is type(value) and known == value:
                return i
        self.consts.append(value)
        return len(self.consts) - 1

    def emit(self, name: str, arg: int | Label = 0) -> None:
        self.items.append(Op(name, arg, self.protection))

    def load(self, name: str) -> None:
        slot = VARNAMES.index(name)
        self.emit("LOAD_FAST_CHECK" if VERSION >= (3, 12) else "LOAD_FAST", slot)

    def trace(self, depth: int) -> None:
        """A call of the tracer with a number of its own, and perhaps a copy of what is on top; the answer stays."""
        self.calls += 1
        self.emit("PUSH_CALLABLE", 0)
        self.emit("LOAD_CONST", self.const(self.calls))
        if depth and self.random.random() < 0.4:
            self.emit("COPY", 3 + self.random.randrange(1, min(depth, 3) + 1))
            self.emit("INVOKE", 2)
        else:
            self.emit("INVOKE", 1)

    def push(self) -> None:
        pick = self.random
        kind = pick.randrange(8)
        if kind < 4:
            self.load(pick.choice(["a", "b", "c", "items", "d", "e"]))
        elif kind < 7:
            self.emit("LOAD_CONST", self.const(pick.choice([0, 1, 2, 3, "xy", None, True, (1, 2), 2.5])))
        else:
            self.emit("LOAD_FAST", VARNAMES.index("items"))
            self.emit("GET_ITER")

    def operation(self, depth: int) -> int:
        """One random operation; the depth after it."""
        pick, emit = self.random, self.emit
        choices = ["push", "push", "trace", "effect"]
        if depth >= 1:
            choices += ["format", "convert", "method", "match", "keep", "spread", "global", "superloads"]
            choices += ["pop", "store", "unary", "copy", "iter", "attr", "unpack", "size", "one", "bool", "len"]
        if depth >= 2:
            choices += ["delitem", "keymap", "merge", "strings", "keywords", "slice2"]
            choices += [
                "binary",
                "binary",
                "compare",
                "is",
                "in",
                "swap",
                "swap",
                "build",
                "build",
                "subscr",
                "setattr",
                "call",
            ]
        if depth >= 3:
            choices += ["setitem", "slice", "build", "deep", "deep"]
        kind = pick.choice(choices)
        match kind:
            case "push":
                self.push()
                return depth + 1
            case "trace":
                self.trace(depth)
                if pick.random() < 0.7:
                    emit("POP_TOP")
                    return depth
                return depth + 1
            case "effect":
                name = pick.choice(LOCALS)
                if pick.random() < 0.3:
                    emit("DELETE_FAST", VARNAMES.index(name))
                else:
                    self.load(name)
                    emit("POP_TOP")
                return depth
            case "pop":
                emit("POP_TOP")
                return depth - 1
            case "store":
                emit("STORE_FAST", VARNAMES.index(pick.choice(LOCALS)))
                return depth - 1
            case "unary":
                op = pick.choice(["UNARY_NEGATIVE", "UNARY_INVERT", "NEGATE", "NEGATE"])
                emit(op)
                return depth
            case "bool":
                if VERSION >= (3, 13):
                    emit("TO_BOOL")
                return depth
            case "copy":
                emit("COPY", pick.randrange(1, min(depth, 4) + 1))
                return depth + 1
            case "deep":
                emit("SWAP", pick.randrange(2, depth + 1))
                emit("COPY", pick.randrange(1, depth + 1))
                return depth + 1
            case "swap":
                emit("SWAP", pick.randrange(2, depth + 1))
                return depth
            case "iter":
                emit("GET_ITER")
                return depth
            case "attr":
                emit("LOAD_ATTR", self.attribute())
                return depth
            case "unpack":
                count = pick.choice([1, 2, 2, 3])
                if pick.random() < 0.3:
                    emit("UNPACK_EX", count - 1)
                else:
                    emit("UNPACK_SEQUENCE", count)
                return depth - 1 + count
            case "size":
                emit("GET_LEN")
                return depth + 1
            case "one":
                emit(pick.choice(["BUILD_LIST", "BUILD_TUPLE", "BUILD_SET"]), 1)
                return depth
            case "len":
                emit("LOAD_GLOBAL", NAMES.index("len") << 1 | (VERSION < (3, 13)))
                if VERSION >= (3, 13):
                    emit("PUSH_NULL")
                emit("COPY", 3)
                emit("INVOKE", 1)
                return depth + 1
            case "binary":
                emit("BINARY_OP", pick.choice(BINARY))
                return depth - 1
            case "compare":
                emit("COMPARE", pick.randrange(6))
                return depth - 1
            case "is":
                emit("IS_OP", pick.randrange(2))
                return depth - 1
            case "in":
                emit("CONTAINS_OP", pick.randrange(2))
                return depth - 1
            case "build":
                count = pick.randrange(2, min(depth, 4) + 1)
                name = pick.choice(["BUILD_LIST", "BUILD_TUPLE", "BUILD_SET", "BUILD_MAP", "BUILD_SLICE"])
                if name == "BUILD_MAP":
                    emit(name, 1)
                    return depth - 1
                if name == "BUILD_SLICE":
                    emit(name, 2)
                    return depth - 1
                emit(name, count)
                return depth - count + 1
            case "format":
                emit(*(("FORMAT_SIMPLE", 0) if VERSION >= (3, 13) else ("FORMAT_VALUE", pick.randrange(4))))
                return depth
            case "convert":
                if VERSION >= (3, 13):
                    emit("CONVERT_VALUE", pick.randrange(1, 4))
                return depth
            case "method":
                name = NAMES.index(pick.choice(["count", "append", "x"]))
                emit(*(("LOAD_ATTR", name << 1 | 1) if VERSION >= (3, 12) else ("LOAD_METHOD", name)))
                emit("LOAD_CONST", self.const(1))
                emit("INVOKE", 1)
                return depth
            case "match":
                emit(pick.choice(["MATCH_SEQUENCE", "MATCH_MAPPING"]))
                return depth + 1
            case "keep":
                if VERSION < (3, 12):
                    label = Label()
                    emit(pick.choice(["JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"]), label)
                    self.push()
                    self.items.append(label)
                return depth
            case "spread":
                emit("BUILD_TUPLE", 1)
                emit("PUSH_CALLABLE", 0)
                emit("LOAD_FAST", VARNAMES.index("items"))
                emit("SPREAD_CALL")
                emit("SWAP", 2)
                emit("POP_TOP")
                return depth
            case "global":
                emit("STORE_GLOBAL", NAMES.index("g"))
                emit("LOAD_GLOBAL", NAMES.index("g") << 1)
                return depth
            case "superloads":
                if VERSION >= (3, 13):
                    emit("LOAD_FAST_LOAD_FAST", VARNAMES.index("t") << 4 | VARNAMES.index("items"))
                    return depth + 2
                return depth
            case "delitem":
                emit("DELETE_SUBSCR")
                return depth - 2
            case "keymap":
                if VERSION < (3, 14):
                    emit("LOAD_CONST", self.const(("p", "q")))
                    emit("BUILD_CONST_KEY_MAP", 2)
                    return depth - 1
                return depth
            case "merge":
                emit("BUILD_MAP", 1)
                emit("BUILD_MAP", 0)
                emit("SWAP", 2)
                emit("DICT_UPDATE", 1)
                return depth - 1
            case "strings":
                form = ("FORMAT_SIMPLE", 0) if VERSION >= (3, 13) else ("FORMAT_VALUE", 0)
                emit(*form)
                emit("SWAP", 2)
                emit(*form)
                emit("BUILD_STRING", 2)
                return depth - 1
            case "keywords":
                emit("BUILD_TUPLE", 2)
                emit("PUSH_CALLABLE", 0)
                emit("COPY", 3)
                if VERSION >= (3, 13):
                    emit("LOAD_CONST", self.const(("key",)))
                    emit("CALL_KW", 1)
                else:
                    emit("KW_NAMES", self.const(("key",)))
                    emit("INVOKE", 1)
                emit("SWAP", 2)
                emit("POP_TOP")
                return depth - 1
            case "slice2":
                if VERSION >= (3, 12):
                    emit("LOAD_CONST", self.const(1))
                    emit("BINARY_SLICE")
                    return depth - 1
                return depth
            case "subscr":
                emit("SUBSCRIPT")
                return depth - 1
            case "setattr":
                emit("STORE_ATTR", NAMES.index(pick.choice(ATTRIBUTES)))
                return depth - 2
            case "call":
                name = pick.choice(["LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "LIST_APPEND"])
                first = {"L": "BUILD_LIST", "S": "BUILD_SET", "D": "BUILD_MAP"}[name[0]]
                emit(first, 0)
                emit("SWAP", 2)
                emit(name, 1)
                return depth
            case "setitem":
                emit("STORE_SUBSCR")
                return depth - 3
            case _:
                emit("BUILD_SLICE", 3)
                return depth - 2

    def attribute(self) -> int:
        index = NAMES.index(self.random.choice(ATTRIBUTES))
        return index << 1 if VERSION >= (3, 12) else index

    def settle(self, depth: int, wanted: int) -> None:
        while depth > wanted:
            self.emit("POP_TOP")
            depth -= 1
        while depth < wanted:
            self.push()
            depth += 1

    def edge(self, depth: int, target: Block) -> Label:
        """A label that leads to ``target`` from a stack of that depth."""
        if depth == target.depth:
            return target.label
        label = Label()
        self.late.append((label, depth, target))
        return label

    def spend(self, depth: int) -> None:
        """One step less; a run without any left returns."""
        self.emit("LOAD_FAST", FUEL)
        self.emit("LOAD_CONST", self.const(1))
        self.emit("BINARY_OP", 23)
        self.emit("STORE_FAST", FUEL)
        self.emit("LOAD_FAST", FUEL)
        self.emit("LOAD_CONST", self.const(0))
        self.emit("COMPARE", 0)
        self.emit("JUMP_IF_TRUE", self.edge(depth, self.end))

    def build(self, generator: bool) -> types.CodeType:
        pick = self.random
        count = pick.choice([2, 3, 4, 6, 8, 12, 16, 24, 40])
        self.end = Block(-1, 0)
        blocks = [Block(i, 0 if i == 0 else pick.choice([0, 0, 1, 1, 2, 2, 3, 4])) for i in range(count)]
        handlers: list[tuple[Protection, int, int]] = []
        for _ in range(pick.choice([0, 0, 1, 2, 3, 5])):
            first = pick.randrange(1, count)
            last = min(count, first + pick.randrange(1, 6))
            deep = min(block.depth for block in blocks[first:last])
            protection = Protection(Label("handler"), pick.randrange(deep + 1), pick.random() < 0.3)
            for block in blocks[first:last]:
                block.handler = protection
            handlers.append((protection, first, last))
        if generator:
            self.items += assembler.generator_start()
        self.emit("RESUME")
        self.emit("LOAD_CONST", self.const(STEPS))
        self.emit("STORE_FAST", FUEL)
        for name in ("d", "e"):
            self.emit("LOAD_CONST", self.const(pick.choice([None, 1])))
            self.emit("STORE_FAST", VARNAMES.index(name))
        for block in blocks:
            self.items.append(block.label)
            self.protection = None
            self.spend(block.depth)
            self.protection = block.handler
            floor = block.handler.depth if block.handler is not None else 0
            self.body(block.depth, floor, blocks, generator, fall=blocks[(block.number + 1) % count])
            self.flush()
        for protection, _, _ in handlers:
            self.handle(protection, blocks, generator)
        self.items.append(self.end.label)
        self.protection = None
        self.emit("LOAD_CONST", 0)
        self.emit("RETURN_VALUE")
        template = _template.__code__
        flags = template.co_flags | (0x20 if generator else 0)
        code = assembler.assemble(
            self.items, template.replace(co_name="f", co_qualname="f", co_flags=flags), tuple(self.consts), 60
        )
        return code

    def flush(self) -> None:
        """The edges that have to bring the stack to another depth."""
        self.protection = None
        for label, depth, target in self.late:
            self.items.append(label)
            self.settle(depth, target.depth)
            self.emit("JUMP", target.label)
        self.late.clear()

    def body(self, depth: int, floor: int, blocks: list[Block], generator: bool, fall: Block) -> None:
        """Some operations that keep ``floor`` slots, and how the block ends."""
        pick = self.random
        self.trace(0)
        self.emit("POP_TOP")
        for _ in range(pick.choice([0, 1, 1, 2, 3, 5])):
            mark = len(self.items)
            after = self.operation(depth)
            if after < floor or after > 12 or self._dips(mark, depth, floor):
                del self.items[mark:]
                continue
            depth = after
            if generator and depth and pick.random() < 0.15:
                self.emit("YIELD")
        self.leave(depth, blocks, fall)

    def _dips(self, mark: int, depth: int, floor: int) -> bool:
        """Whether an operation takes or moves what a handler expects to find on the stack."""
        for item in self.items[mark:]:
            if isinstance(item, Label):
                continue
            taken = TAKES.get(item.name, 0)
            if taken < 0:
                assert isinstance(item.arg, int)
                taken *= -item.arg
            if depth - taken < floor:
                return True
            depth += EFFECTS.get(item.name, 0)
        return False

    def leave(self, depth: int, blocks: list[Block], fall: Block) -> None:
        pick, emit = self.random, self.emit
        kind = pick.choice(["jump", "test", "test", "test", "none", "keep", "iter", "return", "raise", "fall"])
        one, two = pick.choice(blocks), pick.choice(blocks)
        floor = self.protection.depth if self.protection is not None else 0
        if kind in ("test", "none"):
            if depth <= floor or pick.random() < 0.5:
                self.trace(0)
                depth += 1
            emit(
                f"JUMP_IF_{pick.choice(['TRUE', 'FALSE'] if kind == 'test' else ['NONE', 'NOT_NONE'])}",
                self.edge(depth - 1, one),
            )
            depth -= 1
        elif kind == "keep" and depth:
            emit("COPY", pick.randrange(1, depth + 1))
            emit("JUMP_IF_FALSE", self.edge(depth, one))
        elif kind == "iter":
            emit("LOAD_FAST", VARNAMES.index("items"))
            emit("GET_ITER")
            done, step = Label(), Label()
            self.items.append(step)
            emit("FOR_ITER", done)
            if pick.random() < 0.5:
                emit("STORE_FAST", VARNAMES.index(pick.choice(LOCALS)))
                self.trace(0)
                emit("JUMP_IF_TRUE", step)
                emit("POP_TOP")
            else:
                emit("STORE_FAST", VARNAMES.index(pick.choice(LOCALS)))
                self.spend(depth + 1)
                emit("JUMP", self.edge(depth + 1, one))
            out = Label()
            if not isinstance(self.items[-1], Op) or self.items[-1].name != "JUMP":
                emit("JUMP", out)
            self.items.append(done)
            emit("LOOP_END")
            self.items.append(out)
        elif kind == "return" and depth:
            emit("RETURN_VALUE")
            return
        elif kind == "raise":
            emit("LOAD_GLOBAL", NAMES.index("ValueError") << 1)
            emit("RAISE_VARARGS", 1)
            return
        self.protection = None
        if kind == "fall":
            two = fall
        self.settle(depth, two.depth)
        emit("JUMP", two.label)

    def handle(self, protection: Protection, blocks: list[Block], generator: bool) -> None:
        """The code of a handler: entered with the slots below, perhaps the offset, and the exception."""
        pick, emit = self.random, self.emit
        base = protection.depth + protection.lasti
        self.items.append(protection.target)
        self.protection = None
        style = pick.choice(["plain", "plain", "typed", "bare", "kept", "again"])
        target = pick.choice(blocks)
        if style == "bare":
            if pick.random() < 0.5:
                emit("POP_TOP")
            else:
                emit("STORE_FAST", VARNAMES.index(pick.choice(LOCALS)))
            self.resume(protection, target)
            return
        cleanup = Protection(Label("cleanup"), base + 1, True)
        emit("PUSH_EXC_INFO")
        self.protection = cleanup
        if style == "typed":
            other = Label()
            emit("LOAD_GLOBAL", NAMES.index("ValueError") << 1)
            emit("CHECK_EXC_MATCH")
            emit("JUMP_IF_FALSE", other)
            self.trace(0)
            emit("POP_TOP")
        self.trace(1)
        emit("POP_TOP")
        if style == "again":
            emit("RERAISE", 0)
        else:
            if style == "kept":
                emit("STORE_FAST", VARNAMES.index(pick.choice(LOCALS)))
            else:
                emit("POP_TOP")
            self.protection = None
            emit("POP_EXCEPT")
            self.resume(protection, target)
        if style == "typed":
            self.protection = cleanup
            self.items.append(other)
            emit("RERAISE", 0)
        self.protection = None
        self.items.append(cleanup.target)
        emit("COPY", 3)
        emit("POP_EXCEPT")
        emit("RERAISE", 1)

    def resume(self, protection: Protection, target: Block) -> None:
        """After a handler: the offset, which differs from one assembler to the next, is no value."""
        if protection.lasti:
            self.emit("POP_TOP")
        self.settle(protection.depth, target.depth)
        self.emit("JUMP", target.label)


def make(seed: int) -> types.CodeType:
    """Program number ``seed``."""
    return Program(seed).build(generator=seed % 7 == 0 and VERSION < (3, 12))
