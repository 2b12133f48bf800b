"""Random programs of which a compiler wrote nothing, for the fuzzer: more kinds of code around ``randomcfg``'s graphs.

Each program draws some *features*.  ``split``: every statement has a handler of its own; ``shared``: handlers share a
body, or drop the exception at once; ``value``: the exception is a value like others; ``delete``: locals are deleted
and read; ``cells``: a cell variable, and functions that close over it; ``data``: operators, containers, unpacking;
``noise``: dead code, ``NOP``, needless ``EXTENDED_ARG`` and jumps; ``with``: managers; ``yield``: a generator that yields
anywhere and delegates.
"""

from __future__ import annotations

import inspect
import random
import types

from tools.fuzz.bytecode import assembler, randomcfg
from tools.fuzz.bytecode.assembler import Label, Op, Protection
from tools.fuzz.bytecode.randomcfg import (
    CONTAINERS,
    DICT,
    LIST,
    LOCALS,
    SET,
    VALUE,
    Block,
    Context,
    Handler,
    Program,
    Slot,
)

FIRST = 200_000
"""The number of the first hostile program."""
FEATURES = ("split", "shared", "value", "delete", "cells", "data", "noise", "with", "yield")
CELL = 5
YIELD = 2 if assembler.VERSION == (3, 12) else 0
"""3.12 has the depth of the exception stack in ``YIELD_VALUE`` (1 would say that closing runs nothing)."""
DELEGATE = 1 if assembler.VERSION >= (3, 13) else YIELD
SUBTRACT, ADD_IN_PLACE = 10, 13


def _with_cell(t, a, b, c, items):  # type: ignore[no-untyped-def]
    d = Exception, ValueError
    return lambda: d


class Manager(Context):
    """The body of a ``with``: its exit function lies below the values of its blocks."""


class Hostile(Program):
    """One program; ``features`` says what may occur in it."""

    def __init__(self, seed: int, blocks: int, handlers: int, loops: int, features: frozenset[str]) -> None:
        self.features = features
        self.managers: dict[str, tuple[Context, Protection | None, Block]] = {}
        self.made: set[Context] = set()
        super().__init__(seed, blocks, handlers, loops, wild=True)

    # -- shape ------------------------------------------------------------------------------------------------------

    def prepare(self, root: Context) -> None:
        self.generator = self.wrapped = "yield" in self.features
        if self.generator and assembler.VERSION >= (3, 12):
            root.cleanup = Protection(Label("stop iteration"), 0, True)

    def add_handler(self) -> None:
        pick = self.random
        if "with" in self.features and pick.random() < 0.4:
            self.add_manager()
        elif "shared" in self.features and self.handlers and pick.random() < 0.5:
            other = pick.choice(self.handlers)
            if other.entry is None:
                return
            protection = Protection(Label("shared"), len(other.saved), False)
            typed = not other.inside.keeps_exception and pick.random() < 0.5
            self.handlers.append(
                Handler(other.context, other.inside, other.saved, other.parent, protection, typed, other.entry)
            )
        else:
            super().add_handler()

    def add_manager(self) -> None:
        """A block that enters the manager, and a context for its body."""
        pick = self.random
        context = pick.choice(self.contexts)
        handler = pick.choice([None, *(h for h in self.handlers if h.context is context)])
        stack = (handler.saved if handler else context.base) + (VALUE,) * pick.choice([0, 0, 1])
        number = len(self.contexts)
        inside = Manager(number, (*stack, ("x", number)), False, context)
        outer = handler.protection if handler else context.cleanup
        inside.cleanup = Protection(Label(f"with{number}"), len(stack) + 1, True)
        self.contexts.append(inside)
        enters = Block(len(self.blocks), context, stack, handler, inside)
        self.blocks.append(enters)
        self.managers[f"with{number}"] = inside, outer, enters
        self.add_block(inside, first=True)

    # -- code -------------------------------------------------------------------------------------------------------

    def emit(self, name: str, arg: int | Label = 0) -> None:
        if "noise" in self.features and self.random.random() < 0.06:
            self.noise()
        unsure = isinstance(arg, int) and 1 <= arg <= 3 and "delete" in self.features
        if name == "LOAD_FAST" and unsure and assembler.VERSION >= (3, 12):
            name = "LOAD_FAST_CHECK"
        kept = self.protection
        if kept is None and self.wrapped:
            self.protection = self.contexts[0].cleanup
        super().emit(name, arg)
        self.protection = kept

    def noise(self) -> None:
        match self.random.randrange(5):
            case 0:
                super().emit("NOP")
            case 1:
                super().emit("EXTENDED_ARG", 0)
                super().emit("NOP")
            case 2:
                after = Label()
                super().emit("JUMP", after)
                self.items.append(after)
            case 3:
                after = Label()
                super().emit("JUMP", after)
                for _ in range(self.random.randrange(1, 90)):
                    self.items.append(Op(self.random.choice(["NOP", "LOAD_FAST"]), 0, self.protection))
                self.items.append(after)
            case _:
                for _ in range(self.random.choice([1, 3, 150])):
                    super().emit("NOP")

    def between(self, stack: list[Slot], block: Block) -> None:
        """Before each statement of a block."""
        if "split" in self.features:
            fixed = tuple(stack[: block.floor])
            possible = [block.context.cleanup, block.protection]
            for handler in self.handlers:
                saved = handler.saved
                if handler.context is block.context and fixed[: len(saved)] == saved and len(saved) <= block.floor:
                    possible.append(handler.protection)
            self.protection = self.random.choice(possible)

    def statements(self, own: list[Slot]) -> list[str]:
        found = super().statements(own)
        top, second = (own[-1:] or [None])[0], (own[-2:-1] or [None])[0]
        if "delete" in self.features:
            found += ["delete", "delete"]
        if "cells" in self.features:
            found += ["read cell", "write cell", "closure"] + ["delete cell"] * (self.random.random() < 0.3)
        if "data" in self.features:
            found += ["tuple", "unpack", "item", "store item", "attribute"]
            if top == VALUE:
                found += ["not", "double", "in"]
                if second == VALUE:
                    found += ["compare", "is", "subtract", "augment"]
                if second in CONTAINERS:
                    found += ["extend", "extend"]
        if self.generator:
            found += ["yield", "yield value", "delegate"]
        return found

    def statement(self, kind: str, stack: list[Slot], own: list[Slot]) -> None:
        pick = self.random
        match kind:
            case "delete":
                self.emit("DELETE_FAST", self.local(pick.choice(LOCALS)))
            case "read cell":
                self.emit("LOAD_DEREF", CELL)
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
            case "write cell":
                self.call()
                self.emit("STORE_DEREF", CELL)
            case "delete cell":
                self.emit("DELETE_DEREF", CELL)
            case "closure":
                self.closure()
            case "tuple":
                self.emit("LOAD_FAST", self.local(pick.choice(LOCALS)))
                self.call()
                self.emit(pick.choice(["BUILD_TUPLE", "BUILD_LIST"]), 2)
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
            case "unpack":
                self.emit("LOAD_FAST", self.local(pick.choice([*LOCALS, "items"])))
                self.emit("UNPACK_SEQUENCE", 2)
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
            case "item":
                self.emit("LOAD_FAST", self.local(pick.choice([*LOCALS, "items"])))
                self.load_number(pick.choice([0, 1]))
                self.emit("SUBSCRIPT")
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
            case "store item":
                self.call()
                self.emit("LOAD_FAST", self.local("items"))
                self.load_number(pick.choice([0, 1]))
                self.emit("STORE_SUBSCR")
            case "attribute":
                self.emit("LOAD_FAST", self.local(pick.choice(LOCALS)))
                self.emit("LOAD_GLOBAL", 0)
                self.emit("IS_OP", pick.choice([0, 1]))
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
            case "not":
                if assembler.VERSION >= (3, 13):
                    self.emit("TO_BOOL")
                self.emit("UNARY_NOT")
            case "double":
                self.emit("COPY", 1)
                self.emit("BINARY_OP", 0)
            case "in":
                self.emit("LOAD_FAST", self.local("items"))
                self.emit("CONTAINS_OP", pick.choice([0, 1]))
            case "compare":
                self.emit(
                    "COMPARE_OP",
                    2 if assembler.VERSION < (3, 12) else 2 << 4 | 8 if assembler.VERSION < (3, 13) else 72,
                )
                stack.pop()
            case "is":
                self.emit("IS_OP", pick.choice([0, 1]))
                stack.pop()
            case "subtract" | "augment":
                self.emit("BINARY_OP", SUBTRACT if kind == "subtract" else ADD_IN_PLACE)
                stack.pop()
            case "extend":
                ways = {LIST: "LIST_EXTEND", SET: "SET_UPDATE", DICT: "DICT_UPDATE"}
                self.emit(ways[own[-2]], 1)
                stack.pop()
            case "yield value":
                self.call()
                self.emit("YIELD_VALUE", YIELD)
                self.emit("RESUME", 1)
                self.emit("POP_TOP")
            case "yield":
                self.emit("LOAD_FAST", self.local(pick.choice(LOCALS)))
                self.emit("YIELD_VALUE", YIELD)
                self.emit("RESUME", 1)
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
            case "delegate":
                self.delegate(stack)
            case _:
                super().statement(kind, stack, own)

    def delegate(self, stack: list[Slot]) -> None:
        """``yield from items`` as the compiler writes it."""
        again, done, failed, out = Label(), Label(), Label(), Label()
        outer = self.protection
        self.emit("LOAD_FAST", self.local("items"))
        self.emit("GET_YIELD_FROM_ITER")
        self.load_none()
        plain, self.features = self.features, self.features - {"noise"}
        self.items.append(again)
        self.emit("SEND", done)
        if assembler.VERSION >= (3, 12):
            self.protection = Protection(failed, len(stack) + 2, False)
        self.emit("YIELD_VALUE", DELEGATE)
        self.protection = outer
        self.emit("RESUME", 2)
        self.items.append(Op("JUMP_BACKWARD_NO_INTERRUPT", again, self.protection))
        if assembler.VERSION >= (3, 12):
            self.items.append(failed)
            self.emit("CLEANUP_THROW")
            self.items.append(done)
            self.emit("END_SEND")
        else:
            self.items.append(done)
        self.items.append(out)
        self.features = plain
        self.emit("STORE_FAST", self.local(self.random.choice(LOCALS)))

    def load_none(self) -> None:
        self.emit("LOAD_CONST", self.first_const)

    def closure(self) -> None:
        """``b = lambda: d``, and a call of it."""
        inner = next(const for const in _with_cell.__code__.co_consts if isinstance(const, types.CodeType))
        if inner not in self.consts:
            self.consts.append(inner)
        if assembler.VERSION >= (3, 13):
            self.emit("LOAD_FAST", CELL)
            self.emit("BUILD_TUPLE", 1)
            self.emit("LOAD_CONST", self.consts.index(inner))
            self.emit("MAKE_FUNCTION")
            self.emit("SET_FUNCTION_ATTRIBUTE", 8)
            self.emit("PUSH_NULL")
        else:
            self.emit("PUSH_NULL")
            self.emit("LOAD_CLOSURE", CELL)
            self.emit("BUILD_TUPLE", 1)
            self.emit("LOAD_CONST", self.consts.index(inner))
            self.emit("MAKE_FUNCTION", 8)
        self.finish_call(0)
        self.emit("STORE_FAST", self.local(self.random.choice(LOCALS)))

    def pop(self, slot: Slot) -> None:
        if slot[0] != "x":
            super().pop(slot)
            return
        kept = self.protection
        self.protection = self.managers[f"with{slot[1]}"][1]
        for _ in range(3):
            self.load_none()
        self.finish_call(2)
        self.emit("POP_TOP")
        self.protection = kept

    def loop(self, block: Block) -> None:
        inside = block.enters
        if not isinstance(inside, Manager):
            plain, self.features = self.features, self.features - {"noise"}
            super().loop(block)  # what leaves it skips instructions without a look
            self.features = plain
            return
        self.emit("LOAD_FAST", self.local("t"))
        self.emit("BEFORE_WITH")
        inner = [b for b in self.blocks if b.context is inside]
        self.protection = inside.cleanup
        self.go((*inside.base, VALUE), self.random.choice(inner))

    def enter(self, stack: tuple[Slot, ...], block: Block) -> bool:
        loops = [c for c in self.contexts if c.head is not None and c.outside is block.context]
        return bool(loops) and super().enter(stack, block)

    def manager_exit(self, inside: Context, outer: Protection | None, enters: Block) -> None:
        """Where the body of a ``with`` goes when it raises."""
        assert inside.cleanup is not None
        cleanup, suppressed = Protection(inside.cleanup.target, len(inside.base), True), Label()
        restore = Protection(Label("restore"), cleanup.depth + 2, True)
        self.items.append(cleanup.target)
        self.protection = restore
        self.emit("PUSH_EXC_INFO")
        self.emit("WITH_EXCEPT_START")
        self.emit("JUMP_IF_TRUE", suppressed)
        self.emit("RERAISE", 2)
        self.items.append(suppressed)
        self.emit("POP_TOP")
        self.protection = outer
        self.emit("POP_EXCEPT")
        self.emit("POP_TOP")
        self.emit("POP_TOP")
        self.go(inside.base[:-1], self.choose(enters))
        self.items.append(restore.target)
        self.protection = outer
        self.emit("COPY", 3)
        self.emit("POP_EXCEPT")
        self.emit("RERAISE", 1)

    def handler_entry(self, handler: Handler) -> None:
        pick, inside = self.random, handler.inside
        outer = handler.parent.protection if handler.parent else handler.context.cleanup
        if "shared" in self.features and pick.random() < 0.25 and inside in self.made:
            # the exception is dropped at once
            self.items.append(handler.protection.target)
            self.protection = outer
            self.emit("PUSH_EXC_INFO")
            self.emit("POP_TOP")
            self.emit("POP_EXCEPT")
            self.call()
            self.emit("POP_TOP")
            fake = Block(-1, handler.context, handler.saved, handler.parent)
            self.go(handler.saved, self.choose(fake))
            return
        if inside not in self.made:
            self.made.add(inside)
            super().handler_entry(handler)
            return
        self.handler_start(handler)

    def take_exception(self) -> None:
        if "value" in self.features and self.random.random() < 0.5:
            if self.random.random() < 0.5:
                self.emit("COPY", 1)
                self.emit("STORE_FAST", self.local(self.random.choice(LOCALS)))
            else:
                self.emit("COPY", 1)
                self.call_with_top()
                self.emit("POP_TOP")

    def finish(self) -> None:
        for name in sorted(self.managers):
            self.manager_exit(*self.managers[name])
        root = self.contexts[0].cleanup
        if root is not None:
            self.wrapped = False
            self.items.append(root.target)
            self.protection = None
            self.emit("CALL_INTRINSIC_1", 3)
            self.emit("RERAISE", 1)

    def start(self) -> None:
        if "cells" in self.features:
            self.items.append(Op("MAKE_CELL", CELL))
        if self.generator:
            self.items += [Op("RETURN_GENERATOR"), Op("POP_TOP")]
        self.items.append(Op("RESUME", 0, self.contexts[0].cleanup))

    def template(self) -> types.CodeType:
        if "cells" not in self.features:
            return super().template()
        code = _with_cell.__code__
        assert code.co_names[: len(randomcfg.NAMES)] == randomcfg.NAMES
        return code.replace(co_flags=code.co_flags | (inspect.CO_GENERATOR if self.generator else 0))


def make(seed: int) -> types.CodeType:
    """The hostile program number ``seed``."""
    pick = random.Random(seed)
    blocks = pick.choice([2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 25, 30, 40])
    handlers = min(pick.choice([0, 1, 1, 2, 3, 4, 6]), blocks // 2)
    loops = min(pick.choice([0, 0, 1, 1, 2, 3]), blocks // 3)
    features = frozenset(name for name in FEATURES if pick.random() < 0.3)
    if assembler.VERSION >= (3, 14):
        features -= {"with"}  # its slots are others there
    return Hostile(seed, blocks, handlers, loops, features).build()
