"""Random control-flow graphs as valid code objects: irreducible loops, handlers, values carried on the stack.

A program is a function ``f(t, a, b, c, items)``; ``t`` is the tracer it calls.  Blocks live in *contexts*: the root,
one for each exception handler (where the previous exception sits on the stack until ``POP_EXCEPT``) and one for each
``for`` loop (where the iterator does, and which is only entered through ``GET_ITER``).  An edge goes to any block of the
same context or of one outside it; where the stacks of its two ends differ, the edge pops and pushes.

Two rules make every run end, however the tracer behaves.  Every block calls the tracer, so a run makes at most as many
calls as the tracer allows before it raises always; and a handler starts with a call that only outer handlers protect.
"""

from __future__ import annotations

import inspect
import random
import types
from dataclasses import dataclass, field

from tools.fuzz.bytecode import assembler
from tools.fuzz.bytecode.assembler import Item, Label, Op, Protection

# ("v", 0) is a value; of context n: ("i", n) its iterator, ("p", n) the exc_info to restore, ("e", n) its exception
Slot = tuple[str, int]
VALUE: Slot = ("v", 0)
LIST: Slot = ("l", 0)
SET: Slot = ("s", 0)
DICT: Slot = ("d", 0)
CONTAINERS = {LIST: "BUILD_LIST", SET: "BUILD_SET", DICT: "BUILD_MAP"}
WILD = 100_000
"""Programs from this number on also do what no compiler writes; see ``Program``."""
LOCALS = ("a", "b", "c")


def _template(t, a, b, c, items):  # type: ignore[no-untyped-def]
    return Exception, ValueError


NAMES = ("Exception", "ValueError")


@dataclass(eq=False)
class Context:
    """Where blocks live; ``base`` is the stack they all find below their own values.

    ``cleanup`` protects what no handler of this context does; ``head`` is set for a ``for`` loop.
    """

    number: int
    base: tuple[Slot, ...] = ()
    keeps_exception: bool = False
    outside: Context | None = None
    cleanup: Protection | None = None
    head: Block | None = None


@dataclass(eq=False)
class Handler:
    """``context`` holds the blocks it protects, ``inside`` its own; ``saved`` is the stack it keeps."""

    context: Context
    inside: Context
    saved: tuple[Slot, ...]
    parent: Handler | None
    protection: Protection
    typed: bool
    entry: Block | None = None


@dataclass(eq=False)
class Block:
    number: int
    context: Context
    stack: tuple[Slot, ...]
    handler: Handler | None
    enters: Context | None = None
    label: Label = field(default_factory=Label)

    @property
    def protection(self) -> Protection | None:
        return self.handler.protection if self.handler else self.context.cleanup

    @property
    def floor(self) -> int:
        """Slots below this one belong to the handler."""
        return len(self.handler.saved if self.handler else self.context.base)


class Program:
    """Builds one random code object.

    A ``wild`` one moreover enters ``for`` loops in the middle and from several places, carries lists, sets and dicts on
    the stack and adds to them there, shuffles deeper slots, branches on constants, indexes fresh lists, calls with a
    tuple of arguments, and (on 3.11) may be a generator.
    """

    def __init__(self, seed: int, blocks: int, handlers: int, loops: int, wild: bool = False) -> None:
        self.random = random.Random(seed)
        self.wild = wild
        root = Context(0)
        self.prepare(root)
        self.items: list[Item] = []
        self.calls = 0
        self.depth = 0
        # from time to time constants sit beyond index 255, so that EXTENDED_ARG is needed
        self.first_const = self.random.choice([0, 0, 0, 250, 300])
        self.consts: list[object] = [None] * self.first_const + [None]
        self.contexts = [root]
        self.handlers: list[Handler] = []
        self.blocks: list[Block] = []
        self.targeted: set[Block] = set()
        self.protection: Protection | None = None
        self.add_block(root, first=True)
        for kind in self.random.sample(["handler"] * handlers + ["loop"] * loops, handlers + loops):
            if kind == "handler":
                self.add_handler()
            else:
                self.add_loop()
        while len(self.blocks) < blocks:
            self.add_block(self.random.choice(self.contexts))
        self.random.shuffle(self.blocks)
        self.blocks.sort(key=lambda block: block.number != 0)

    # -- shape ------------------------------------------------------------------------------------------------------

    def prepare(self, root: Context) -> None:
        self.generator = self.wild and assembler.VERSION == (3, 11) and self.random.random() < 0.3

    def add_handler(self) -> None:
        pick = self.random
        context = pick.choice(self.contexts)
        parent = pick.choice([None, *(h for h in self.handlers if h.context is context)])
        saved = (parent.saved if parent else context.base) + (VALUE,) * pick.choice([0, 0, 0, 1])
        number = len(self.contexts)
        keeps = pick.random() < 0.4
        base = (*saved, ("p", number)) + ((("e", number),) if keeps else ())
        inside = Context(number, base, keeps, context)
        inside.cleanup = Protection(Label(f"cleanup{number}"), len(saved) + 1, True)
        self.contexts.append(inside)
        protection = Protection(Label(f"handler{number}"), len(saved), False)
        self.handlers.append(Handler(context, inside, saved, parent, protection, not keeps and pick.random() < 0.5))
        self.add_block(inside, first=True)

    def add_loop(self) -> None:
        """A loop's head is emitted together with the block that enters it."""
        pick = self.random
        context = pick.choice(self.contexts)
        handler = pick.choice([None, *(h for h in self.handlers if h.context is context)])
        stack = (handler.saved if handler else context.base) + (VALUE,) * pick.choice([0, 0, 1])
        number = len(self.contexts)
        inside = Context(number, (*stack, ("i", number)), False, context)
        inside.cleanup = handler.protection if handler else context.cleanup
        inside.head = Block(-1, inside, inside.base, None)
        self.contexts.append(inside)
        self.blocks.append(Block(len(self.blocks), context, stack, handler, inside))
        self.add_block(inside, first=True)

    def add_block(self, context: Context, first: bool = False) -> None:
        pick = self.random
        handler = None
        if not first:
            handler = pick.choice([None, *(h for h in self.handlers if h.context is context)])
        stack = handler.saved if handler else context.base
        if not first:
            count = pick.choice([0, 0, 0, 1, 2, 3] if self.wild else [0, 0, 0, 1, 2])
            kinds = [VALUE, VALUE, LIST, SET, DICT] if self.wild else [VALUE]
            stack += tuple([pick.choice(kinds) for _ in range(count)]) if self.wild else (VALUE,) * count
        block = Block(len(self.blocks), context, stack, handler)
        if first:
            for h in self.handlers:
                if h.inside is context:
                    h.entry = block
        self.blocks.append(block)

    # -- code -------------------------------------------------------------------------------------------------------

    def emit(self, name: str, arg: int | Label = 0) -> None:
        self.items.append(Op(name, arg, self.protection))

    def load_number(self, value: int) -> None:
        if value not in self.consts:
            self.consts.append(value)
        self.emit("LOAD_CONST", self.consts.index(value))

    def local(self, name: str) -> int:
        return ("t", "a", "b", "c", "items").index(name)

    def call(self, extra: bool = False) -> None:
        """``t(number)``, with a local as second argument sometimes; leaves the result on the stack."""
        self.calls += 1
        if assembler.VERSION >= (3, 13):
            self.emit("LOAD_FAST", self.local("t"))
            self.emit("PUSH_NULL")
        else:
            self.emit("PUSH_NULL")
            self.emit("LOAD_FAST", self.local("t"))
        self.load_number(self.calls)
        if extra:
            self.emit("LOAD_FAST", self.local(self.random.choice(LOCALS)))
        self.finish_call(1 + extra)

    def call_with_top(self) -> None:
        """``t(value)`` with the value on top of the stack, which stays below the call's own slots at first."""
        if assembler.VERSION >= (3, 13):
            self.emit("LOAD_FAST", self.local("t"))
            self.emit("PUSH_NULL")
            self.emit("SWAP", 2)
        else:
            self.emit("PUSH_NULL")
            self.emit("LOAD_FAST", self.local("t"))
            self.emit("SWAP", 2)
        self.emit("SWAP", 3)
        self.finish_call(1)

    def finish_call(self, count: int) -> None:
        if assembler.VERSION == (3, 11):
            self.emit("PRECALL", count)
        self.emit("CALL", count)

    def body(self, block: Block) -> tuple[Slot, ...]:
        """Random statements; the stack they leave."""
        pick = self.random
        stack = list(block.stack)
        self.call(extra=pick.random() < 0.3)
        self.emit("POP_TOP")
        for _ in range(pick.randrange(4)):
            self.between(stack, block)
            own = stack[block.floor :]
            self.statement(pick.choice(self.statements(own)), stack, own)
        return tuple(stack)

    def between(self, stack: list[Slot], block: Block) -> None:
        """Before each statement of a block."""

    def statements(self, own: list[Slot]) -> list[str]:
        """The kinds of statements that are possible with ``own`` on the stack."""
        choices = ["call", "assign", "move"]
        if len(own) < 4:
            choices += ["push", "load"]
        if own and own[-1] == VALUE:
            choices += ["consume", "store", "copy" if len(own) < 4 else "store"]
        if own[-2:] == [VALUE, VALUE]:
            choices += ["add", "swap", "consume"]
        if self.wild:
            choices += ["index", "spread", "build"]
            choices += ["grow"] * any(slot in CONTAINERS for slot in own)
            choices += ["shuffle", "reach"] * (len(own) > 1) + ["yield"] * self.generator
        return choices

    def statement(self, kind: str, stack: list[Slot], own: list[Slot]) -> None:
        """Write one statement and keep ``stack`` up to date."""
        pick = self.random
        match kind:
            case "index":
                self.emit("LOAD_FAST", self.local(pick.choice(LOCALS)))
                self.call()
                self.emit("BUILD_LIST", 2)
                self.load_number(pick.choice([0, 1]))
                self.emit("SUBSCRIPT")
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
            case "spread":
                if assembler.VERSION >= (3, 13):
                    self.emit("LOAD_FAST", self.local("t"))
                    self.emit("PUSH_NULL")
                else:
                    self.emit("PUSH_NULL")
                    self.emit("LOAD_FAST", self.local("t"))
                for _ in range(2):
                    self.emit("LOAD_FAST", self.local(pick.choice(LOCALS)))
                self.emit("BUILD_TUPLE", 2)
                self.emit("SPREAD_CALL")
                self.emit("POP_TOP")
            case "build":
                if len(own) < 4:
                    slot = pick.choice(list(CONTAINERS))
                    self.emit(CONTAINERS[slot], 0)
                    stack.append(slot)
            case "grow":
                at = pick.choice([i for i, slot in enumerate(own) if slot in CONTAINERS])
                self.call()
                if own[at] == DICT:
                    self.emit("LOAD_FAST", self.local("b"))
                ways = {LIST: ["LIST_APPEND"], SET: ["SET_ADD"], DICT: ["MAP_ADD"]}
                self.emit(pick.choice(ways[own[at]]), len(own) - at)
            case "shuffle":
                n = pick.randrange(2, len(own) + 1)
                self.emit("SWAP", n)
                stack[-1], stack[-n] = stack[-n], stack[-1]
            case "reach":
                if len(own) < 4:
                    n = pick.randrange(1, len(own) + 1)
                    self.emit("COPY", n)
                    stack.append(own[-n])
            case "yield":
                self.emit("LOAD_FAST", self.local(pick.choice(LOCALS)))
                self.emit("YIELD_VALUE")
                self.emit("RESUME", 1)
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
            case "call":
                self.call(extra=True)
                self.emit("POP_TOP")
            case "assign":
                self.call(extra=True)
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
            case "move":
                self.emit("LOAD_FAST", self.local(pick.choice(LOCALS)))
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
            case "push":
                self.call()
                stack.append(VALUE)
            case "load":
                self.emit("LOAD_FAST", self.local(pick.choice(LOCALS)))
                stack.append(VALUE)
            case "consume":
                self.call_with_top()
                self.emit("POP_TOP")
                stack.pop()
            case "store":
                self.emit("STORE_FAST", self.local(pick.choice(LOCALS)))
                stack.pop()
            case "copy":
                self.emit("COPY", 1)
                stack.append(VALUE)
            case "add":
                self.emit("BINARY_OP", 0)
                stack.pop()
            case "swap":
                self.emit("SWAP", 2)

    def pop(self, slot: Slot) -> None:
        self.emit("POP_EXCEPT" if slot[0] == "p" else "POP_TOP")

    def go(self, stack: tuple[Slot, ...], target: Block) -> None:
        """The edge to ``target``: unwind to what both stacks share, then push what is missing."""
        shared = 0
        while shared < min(len(stack), len(target.stack)) and stack[shared] == target.stack[shared]:
            shared += 1
        kept = self.protection
        for slot in reversed(stack[shared:]):
            self.protection = None  # popping never raises, and the handler's own slots may be among the popped
            self.pop(slot)
        self.protection = target.context.cleanup
        for slot in target.stack[shared:]:
            if slot in CONTAINERS:
                self.emit(CONTAINERS[slot], 0)
            else:
                self.emit("LOAD_FAST", self.local(self.random.choice(LOCALS)))
        self.emit("JUMP", target.label)
        self.protection = kept

    def choose(self, block: Block) -> Block:
        """Any block of this context or one outside it; later ones more often."""
        around: list[Context] = []
        context: Context | None = block.context
        while context is not None:
            around.append(context)
            context = context.outside
        possible = [b for b in self.blocks if b.context in around]
        possible += [c.head for c in around if c.head is not None]
        fresh = [b for b in possible if b not in self.targeted]
        if fresh and self.random.random() < 0.6:
            choice = self.random.choice(fresh)
            self.targeted.add(choice)
            return choice
        later = [b for b in possible if b.number > block.number]
        if later and self.random.random() < 0.7:
            return self.random.choice(later)
        return self.random.choice(possible)

    def branch(self, stack: tuple[Slot, ...], block: Block) -> None:
        pick = self.random
        own = stack[block.floor :]
        how = pick.choice(["call", "call", "local", "stack"] + ["constant"] * self.wild)
        if how == "stack" and own and own[-1] == VALUE:
            stack = stack[:-1]
        elif how == "constant":
            self.load_number(pick.choice([0, 1]))
        elif how == "local":
            self.emit("LOAD_FAST", self.local(pick.choice(LOCALS)))
        else:
            self.call()
        other = Label()
        self.emit("JUMP_IF_" + pick.choice(["TRUE", "TRUE", "FALSE", "FALSE", "NONE", "NOT_NONE"]), other)
        self.go(stack, self.choose(block))
        self.items.append(other)
        self.go(stack, self.choose(block))

    def enter(self, stack: tuple[Slot, ...], block: Block) -> bool:
        """Go to some place in a loop of this context, with an iterator of our own."""
        pick = self.random
        loops = [c for c in self.contexts if c.head is not None and c.outside is block.context]
        if not loops:
            return False
        inside = pick.choice(loops)
        shared = 0
        below = inside.base[:-1]
        while shared < min(len(stack), len(below)) and stack[shared] == below[shared]:
            shared += 1
        self.protection = None
        for slot in reversed(stack[shared:]):
            self.pop(slot)
        self.protection = block.context.cleanup
        for _ in below[shared:]:
            self.emit("LOAD_FAST", self.local(pick.choice(LOCALS)))
        self.emit("LOAD_FAST", self.local("items"))
        self.emit("GET_ITER")
        assert inside.head is not None
        inner = [b for b in self.blocks if b.context is inside]
        self.go(inside.base, pick.choice([inside.head, *inner]))
        return True

    def loop(self, block: Block) -> None:
        """Enter a loop; its head, where its blocks continue, stands right after."""
        pick = self.random
        inside = block.enters
        assert inside is not None and inside.head is not None
        self.emit("LOAD_FAST", self.local("items"))
        self.emit("GET_ITER")
        inner = [b for b in self.blocks if b.context is inside]
        if self.wild and pick.random() < 0.4:
            self.go(inside.base, pick.choice(inner))
        self.items.append(inside.head.label)
        self.protection = inside.cleanup
        done = Label()
        self.emit("FOR_ITER", done)
        self.go((*inside.base, VALUE), self.random.choice(inner))
        self.items.append(done)
        if assembler.VERSION >= (3, 12):
            self.emit("LOOP_END")
        self.go(inside.base[:-1], self.choose(block))

    def leave(self, stack: tuple[Slot, ...]) -> None:
        self.call()
        self.emit("STORE_FAST", self.local("a"))
        self.protection = None
        for slot in reversed(stack):
            self.pop(slot)
        self.emit("LOAD_FAST", self.local("a"))
        self.emit("RETURN_VALUE")

    def terminator(self, stack: tuple[Slot, ...], block: Block) -> None:
        pick = self.random
        roll = pick.random()
        if self.wild and pick.random() < 0.15 and self.enter(stack, block):
            return
        if roll < 0.5:
            self.branch(stack, block)
        elif roll < 0.82:
            self.go(stack, self.choose(block))
        elif roll < 0.9 and block.context.keeps_exception and block.handler is None:
            for slot in reversed(stack[len(block.context.base) :]):
                self.pop(slot)
            self.emit("RERAISE", 0)
        elif roll < 0.93:
            self.emit("LOAD_GLOBAL", NAMES.index("ValueError") << 1)
            self.emit("RAISE_VARARGS", 1)
        else:
            self.leave(stack)

    def handler_entry(self, handler: Handler) -> None:
        """What a compiler writes at the start of a handler; its clean-up entry restores exc_info and raises again."""
        self.handler_start(handler)
        inside = handler.inside
        assert inside.cleanup is not None
        self.items.append(inside.cleanup.target)
        self.protection = handler.parent.protection if handler.parent else handler.context.cleanup
        self.emit("COPY", 3)
        self.emit("POP_EXCEPT")
        self.emit("RERAISE", 1)

    def take_exception(self) -> None:
        """The exception is on top of the stack, and stays there."""

    def handler_start(self, handler: Handler) -> None:
        inside = handler.inside
        self.items.append(handler.protection.target)
        # as compilers do: the clean-up entry's stack does not exist yet
        self.protection = inside.cleanup if self.wild and self.random.random() < 0.3 else None
        self.emit("PUSH_EXC_INFO")
        self.protection = inside.cleanup
        mismatch = Label()
        if handler.typed:
            self.emit("LOAD_GLOBAL", NAMES.index("Exception") << 1)
            self.emit("CHECK_EXC_MATCH")
            self.emit("JUMP_IF_FALSE", mismatch)
        self.take_exception()
        if not inside.keeps_exception:
            self.emit("POP_TOP")
        assert handler.entry is not None
        self.call()
        self.emit("POP_TOP")
        self.emit("JUMP", handler.entry.label)
        if handler.typed:
            self.items.append(mismatch)
            self.emit("RERAISE", 0)

    def build(self) -> types.CodeType:
        self.start()
        self.emit("JUMP", self.blocks[0].label)
        where = {self.random.randrange(len(self.blocks)): handler for handler in self.handlers}
        late = [handler for handler in self.handlers if handler not in where.values()]
        for index, block in enumerate(self.blocks):
            self.items.append(block.label)
            self.protection = block.protection
            if block.enters is not None:
                self.call()
                self.emit("POP_TOP")
                self.loop(block)
            else:
                self.terminator(self.body(block), block)
            if index in where:
                self.handler_entry(where[index])
        for handler in late:
            self.handler_entry(handler)
        self.finish()
        template = self.template().replace(co_name="f", co_qualname="f", co_filename="random")
        return assembler.assemble(self.items, template, tuple(self.consts), 60)

    def start(self) -> None:
        """What stands before the first block."""
        if self.generator:
            self.emit("RETURN_GENERATOR")
            self.emit("POP_TOP")
        self.emit("RESUME", 0)

    def finish(self) -> None:
        """What stands after the last one."""

    def template(self) -> types.CodeType:
        """Names, variables and flags."""
        code = _template.__code__
        assert code.co_names == NAMES
        return code.replace(co_flags=code.co_flags | (inspect.CO_GENERATOR if self.generator else 0))


def make(seed: int, wild: bool) -> types.CodeType:
    """The random program number ``seed``: 2 to 40 blocks, up to four handlers and three loops."""
    pick = random.Random(seed)
    blocks = pick.choice([2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 25, 30, 40])
    handlers = min(pick.choice([0, 0, 1, 1, 2, 3, 4]), blocks // 2)
    loops = min(pick.choice([0, 0, 1, 1, 2, 3]), blocks // 3)
    return Program(seed, blocks, handlers, loops, wild).build()
