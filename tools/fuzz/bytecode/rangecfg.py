"""Random stack programs for the fuzzer: any block may lead to any other whose stack it can make.

Where ``randomcfg`` nests contexts, this knows only stacks.  A block has the stack it is entered with and one exception
table entry; an edge pops and pushes until the stacks agree.  Handlers therefore share their bodies, their ranges are
any blocks with the same values below, a handler may be its own neighbour's handler, an iterator or a caught exception
is a value like any other (stored, copied, swapped, dropped, iterated elsewhere), and some blocks nothing reaches.

*Bare* handlers keep the exception on the stack without making it the handled one, as the end of a comprehension does;
*lasti* handlers have the offset below it, as a ``finally`` may.  Unless it may *leak*, a handled exception is always
restored: what may raise while it is handled has a handler that does so, or one within.

Runs end for the reason that they do in ``randomcfg``: every block calls the tracer, and a handler starts with a call
that only handlers before it protect.
"""

from __future__ import annotations

import random
import types
from dataclasses import dataclass, field

from tools.fuzz.bytecode import assembler
from tools.fuzz.bytecode.assembler import Item, Label, Op, Protection

VALUE, ITERATOR = "v", "i"
"""Slots anybody can make; others are ``p0`` and so on (the exception handled before; handlers with the same number share
their bodies), ``e`` (one that was caught), ``l``."""
Stack = tuple[str, ...]
FIRST = 300_000
"""The number of the first of these programs."""
LOCALS = ("a", "b", "c", "d")
BINARY = (0, 5, 10, 13, 23)
"""``+ * - += -=``: the same numbers since 3.11."""


def _template(t, a, b, c, items):  # type: ignore[no-untyped-def]
    d = Exception, ValueError
    return d


@dataclass(eq=False)
class Handler:
    """Entered with ``saved`` and the exception on the stack; ``cleanup`` restores the exception handled before."""

    number: int
    saved: Stack
    protection: Protection
    style: str = "cleanup"
    inside: Stack = ()
    outer: Protection | None = None
    entry: Block | None = None


@dataclass(eq=False)
class Block:
    number: int
    stack: Stack
    label: Label = field(default_factory=Label)


class Program:
    """Builds one random code object; ``features`` says what may occur in it."""

    def __init__(self, seed: int, blocks: int, handlers: int, features: frozenset[str]) -> None:
        self.random = random.Random(seed)
        self.features = features
        self.limit = blocks
        self.most = handlers
        self.calls = 0
        self.consts: list[object] = [None]
        self.blocks: list[Block] = []
        self.handlers: list[Handler] = []
        self.groups: dict[str, int] = {}
        """The first handler of each group: what restores the handled exception raises to those before it only."""
        self.cleanups: dict[tuple[Stack, int], Handler] = {}
        self.code: dict[int, list[Item]] = {}
        self.items: list[Item] = []
        wrapped = "yield" in features and assembler.VERSION >= (3, 12)
        self.root = Protection(Label("stop iteration"), 0, True) if wrapped else None
        self.protection: Protection | None = None

    # -- exception table --------------------------------------------------------------------------------------------

    def protect(self, stack: Stack, below: int) -> Protection | None:
        """Some entry for code that keeps ``stack``, among the handlers before number ``below``."""
        handled = max((i + 1 for i, slot in enumerate(stack) if slot[0] == "p"), default=0)
        if "leak" in self.features:
            handled = 0
        possible = [
            h.protection
            for h in self.handlers
            if handled <= len(h.saved) == _shared(stack, h.saved) and h.number < below
        ]
        if possible and self.random.random() < 0.75:
            return self.random.choice(possible)
        if handled == 0:
            return self.root
        kept = stack[:handled]
        found = self.cleanups.get((kept, below))
        if found is None:
            protection = Protection(Label("cleanup"), handled, True)
            found = self.cleanups[kept, below] = Handler(below, kept, protection)
            first = below if "cycles" in self.features else self.groups[kept[-1]]
            found.outer = self.protect(kept[:-1], min(first, below))
        return found.protection

    def add_handler(self, stack: Stack) -> None:
        pick = self.random
        saved = stack[: pick.randrange(len(stack) + 1)]
        number = len(self.handlers)
        style = pick.choice(["plain", "typed", "kept", *(["bare", "lasti"] * ("odd" in self.features))])
        handler = Handler(number, saved, Protection(Label("handler"), len(saved), style == "lasti"), style)
        base = (*saved, "l") if style == "lasti" else saved
        before = f"p{pick.randrange(len(self.groups) + 1) if pick.random() < 0.5 else len(self.groups)}"
        if style != "bare":
            self.groups.setdefault(before, number)
        handler.inside = {
            "plain": (*base, before), "typed": (*base, before), "kept": (*base, before, "e"),
            "lasti": (*base, before, "e"), "bare": (*base, "e"),
        }[style]  # fmt: skip
        entry = (*base, "e") if style == "bare" else (*base, before)
        handler.outer = self.protect(entry, number)
        self.handlers.append(handler)
        handler.entry = self.some_block(handler.inside)

    # -- blocks -----------------------------------------------------------------------------------------------------

    def some_block(self, stack: Stack) -> Block:
        """A block that can be reached with ``stack``: a new one, or an old one."""
        pick = self.random
        fresh = len(self.blocks) < self.limit
        old = [b for b in self.blocks if self.reachable(stack, b.stack)]
        if not old or fresh and pick.random() < 0.55:
            keep = stack if pick.random() < 0.7 else stack[: pick.randrange(len(stack) + 1)]
            block = Block(len(self.blocks), keep)
            self.blocks.append(block)
            return block
        near = [b for b in old if b.stack == stack]
        return pick.choice(near if near and pick.random() < 0.5 else old)

    def reachable(self, stack: Stack, wanted: Stack) -> bool:
        shared = _shared(stack, wanted)
        return all(slot in (VALUE, ITERATOR) for slot in wanted[shared:])

    def emit(self, name: str, arg: int | Label = 0) -> None:
        if "noise" in self.features and name != "LOOP_END" and self.random.random() < 0.04:
            self.items.append(Op(self.random.choice(["NOP", "EXTENDED_ARG"]), 0, self.protection))
            if isinstance(self.items[-1], Op) and self.items[-1].name != "NOP":
                self.items.append(Op("NOP", 0, self.protection))
        self.items.append(Op(name, arg, self.protection or self.root))

    def local(self) -> int:
        names = ("t", "a", "b", "c", "items", "d")
        return names.index(self.random.choice(LOCALS if "unbound" in self.features else LOCALS[:3]))

    def load_local(self) -> None:
        index = self.local()
        checked = assembler.VERSION >= (3, 12) and ("unbound" in self.features or "delete" in self.features)
        self.emit("LOAD_FAST_CHECK" if checked else "LOAD_FAST", index)

    def load(self, value: object) -> None:
        if not any(type(old) is type(value) and old == value for old in self.consts):
            self.consts.append(value)
        at = next(i for i, old in enumerate(self.consts) if type(old) is type(value) and old == value)
        self.emit("LOAD_CONST", at)

    def call(self, stack: Stack = ()) -> None:
        """``t(number)``, sometimes with a local, or with a value of the stack; leaves the result there."""
        self.calls += 1
        self.emit("PUSH_CALLABLE", 0)
        self.load(self.calls)
        count = 1
        if self.random.random() < 0.4:
            self.load_local()
            count += 1
        self.emit("INVOKE", count)

    def write(self, block: Block) -> None:
        """The code of one block."""
        pick = self.random
        self.items = self.code[block.number] = [block.label]
        stack = list(block.stack)
        self.protection = self.protect(block.stack, len(self.handlers))
        self.call()
        self.emit("POP_TOP")
        for _ in range(pick.randrange(6)):
            if "split" in self.features and pick.random() < 0.4:
                self.protection = self.protect(tuple(stack), len(self.handlers))
            self.statement(stack)
        if len(self.handlers) < self.most and pick.random() < 0.4:
            self.add_handler(tuple(stack))
        self.leave(stack)

    def floor(self, stack: list[str]) -> int:
        """The slots below belong to a handler, or hold what only a handler can make."""
        fixed = max((i + 1 for i, slot in enumerate(stack) if slot[0] in "pl"), default=0)
        return max(fixed, self.protection.depth if self.protection else 0)

    def statement(self, stack: list[str]) -> None:
        pick = self.random
        own = len(stack) - self.floor(stack)
        top = stack[-1] if own else ""
        choices = ["call", "assign"]
        if own < 5:
            choices += ["push", "load", "constant", "iterator"]
            choices += ["copy"] * bool(own)
        if own:
            choices += ["pop", "store", "give", "unary", "test"]
        if own > 1:
            choices += ["swap", "swap", "binary", "compare", "pair", "subscript"]
        if own > 2:
            choices += ["slice", "string"]
        if top and own < 4:
            choices += ["unpack"]
        choices += ["delete"] * ("delete" in self.features) + ["yield"] * ("yield" in self.features)
        kind = pick.choice(choices)
        match kind:
            case "call":
                self.call()
                self.emit("POP_TOP")
            case "assign":
                self.call()
                self.emit("STORE_FAST", self.local())
            case "push":
                self.call()
                stack.append(VALUE)
            case "load":
                self.load_local()
                stack.append(VALUE)
            case "constant":
                self.load(pick.choice([None, 0, 1, "x", (1, 2), 2.5, True]))
                stack.append(VALUE)
            case "iterator":
                self.emit("LOAD_FAST", 4)
                self.emit("GET_ITER")
                stack += [ITERATOR]
            case "copy":
                n = pick.randrange(1, own + 1)
                self.emit("COPY", n)
                stack.append(stack[-n])
            case "swap":
                n = pick.randrange(2, own + 1)
                self.emit("SWAP", n)
                stack[-1], stack[-n] = stack[-n], stack[-1]
            case "pop":
                self.emit("POP_TOP")
                stack.pop()
            case "store":
                self.emit("STORE_FAST", self.local())
                stack.pop()
            case "give":
                self.emit("GIVE")
                stack[-1] = VALUE
            case "unary":
                self.emit(pick.choice(["UNARY_NEGATIVE", "UNARY_INVERT", "NEGATE"]))
                stack[-1] = VALUE
            case "test":
                self.load(None)
                self.emit(pick.choice(["IS_OP", "CONTAINS_OP"]), pick.choice([0, 1]))
                stack[-1] = VALUE
            case "binary":
                self.emit("BINARY_OP", pick.choice(BINARY))
                stack.pop()
                stack[-1] = VALUE
            case "compare":
                self.emit("COMPARE", pick.choice([0, 2, 3, 4]))
                stack.pop()
                stack[-1] = VALUE
            case "pair":
                self.emit(pick.choice(["BUILD_TUPLE", "BUILD_LIST"]), 2)
                stack.pop()
                stack[-1] = VALUE
            case "subscript":
                self.emit("SUBSCRIPT")
                stack.pop()
                stack[-1] = VALUE
            case "slice":
                self.emit("BUILD_SLICE", 2)
                self.emit("SUBSCRIPT")
                del stack[-2:]
                stack[-1] = VALUE
            case "string":
                self.emit("BUILD_MAP", 1)
                stack.pop()
                stack[-1] = VALUE
            case "unpack":
                self.emit("UNPACK_SEQUENCE", 2)
                stack[-1:] = [VALUE, VALUE]
            case "length":
                self.emit("GET_LEN")
                stack.append(VALUE)
            case "delete":
                self.emit("DELETE_FAST", self.local())
            case "yield":
                self.load_local()
                self.emit("YIELD")
                self.emit("STORE_FAST", self.local())

    # -- edges ------------------------------------------------------------------------------------------------------

    def go(self, stack: Stack, target: Block, kept: Protection | None) -> None:
        shared = _shared(stack, target.stack)
        self.protection = None
        for slot in reversed(stack[shared:]):
            self.emit("POP_EXCEPT" if slot[0] == "p" else "POP_TOP")
        self.protection = self.protect(target.stack[:shared], len(self.handlers))
        for slot in target.stack[shared:]:
            if slot == ITERATOR:
                self.emit("LOAD_FAST", 4)
                self.emit("GET_ITER")
            else:
                self.load_local()
        self.emit("JUMP", target.label)
        self.protection = kept

    def leave(self, stack: list[str]) -> None:
        """The end of a block."""
        pick = self.random
        floor = self.floor(stack)
        own, kept = len(stack) - floor, self.protection
        now = tuple(stack)
        choices = ["branch"] * 5 + ["jump"] * 3 + ["return", "raise"]
        if own and stack[-1] == ITERATOR:
            choices += ["loop"] * 9
        if own and stack[-1] == "e" and stack[-2:-1] and stack[-2][0] == "p":
            choices += ["reraise"] * 2 + ["reraise lasti"] * 2 * (stack[-3:-2] == ["l"])
        if own and stack[-1] == "e":
            choices += ["raise caught", "reraise"]
        if own and assembler.VERSION == (3, 11):
            choices += ["or pop"] * 2
        kind = pick.choice(choices)
        match kind:
            case "jump":
                self.go(now, self.some_block(now), kept)
            case "branch":
                if own and pick.random() < 0.5:
                    if pick.random() < 0.3:
                        self.emit("COPY", 1)
                    else:
                        now = now[:-1]
                elif pick.random() < 0.2:
                    self.load(pick.choice([None, 0, 1]))
                else:
                    self.call()
                other = Label()
                self.emit("JUMP_IF_" + pick.choice(["TRUE", "FALSE", "NONE", "NOT_NONE"]), other)
                self.go(now, self.some_block(now), kept)
                self.items.append(other)
                self.go(now, self.some_block(now), kept)
            case "or pop":
                other = Label()
                self.emit(pick.choice(["JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"]), other)
                self.go(now[:-1], self.some_block(now[:-1]), kept)
                self.items.append(other)
                self.go(now, self.some_block(now), kept)
            case "loop":
                done = Label()
                self.emit("FOR_ITER", done)
                self.go((*now, VALUE), self.some_block((*now, VALUE)), kept)
                self.items.append(done)
                self.protection = None
                self.emit("LOOP_END")
                self.protection = kept
                self.go(now[:-1], self.some_block(now[:-1]), kept)
            case "reraise":
                self.emit("RERAISE", 0)
            case "reraise lasti":
                self.emit("SWAP", 2)  # POP_EXCEPT takes what was handled before
                self.protection = None
                self.emit("POP_EXCEPT")
                self.protection = self.protect(now[:-3], self.groups[now[-2]])
                self.emit("RERAISE", 1)
            case "raise caught":
                self.emit("RAISE_VARARGS", 1)
            case "raise":
                self.emit("LOAD_GLOBAL", 2)
                if pick.random() < 0.3:
                    self.load(None)
                    self.emit("RAISE_VARARGS", 2)
                else:
                    self.emit("RAISE_VARARGS", 1)
            case "return":
                self.call()
                self.emit("STORE_FAST", 1)
                self.protection = None
                for slot in reversed(now):
                    self.emit("POP_EXCEPT" if slot[0] == "p" else "POP_TOP")
                self.emit("LOAD_FAST", 1)
                self.emit("RETURN_VALUE")

    def handler_code(self, handler: Handler) -> list[Item]:
        """Where an exception comes in."""
        self.items = [handler.protection.target]
        self.protection = handler.outer
        if handler.style == "cleanup":
            self.items += [Op("COPY", 3), Op("POP_EXCEPT"), Op("RERAISE", 1, self.protection)]
            return self.items
        if handler.style != "bare":
            self.items.append(Op("PUSH_EXC_INFO"))
        mismatch = Label()
        if handler.style == "typed":
            self.emit("LOAD_GLOBAL", 0)
            self.emit("CHECK_EXC_MATCH")
            self.emit("JUMP_IF_FALSE", mismatch)
        self.call()
        self.emit("POP_TOP")
        if handler.style in ("plain", "typed"):
            self.emit("POP_TOP")
        assert handler.entry is not None
        self.go(handler.inside, handler.entry, None)
        if handler.style == "typed":
            self.items.append(mismatch)
            self.protection = handler.outer
            self.emit("RERAISE", 0)
        return self.items

    # -- the whole --------------------------------------------------------------------------------------------------

    def build(self) -> types.CodeType:
        pick = self.random
        generator = "yield" in self.features
        self.blocks.append(Block(0, ()))
        written = 0
        while written < len(self.blocks):
            self.write(self.blocks[written])
            written += 1
            if "noise" in self.features and written == len(self.blocks) < self.limit:
                self.blocks.append(Block(written, (VALUE,) * pick.randrange(3)))  # which nothing may reach
        parts = [self.code[block.number] for block in self.blocks[1:]]
        parts += [self.handler_code(handler) for handler in self.handlers]
        done = 0
        while done < len(self.cleanups):  # the edges of handlers may have asked for more
            parts.append(self.handler_code(list(self.cleanups.values())[done]))
            done += 1
        pick.shuffle(parts)
        items = assembler.generator_start() if generator else []
        items.append(Op("RESUME", 0, self.root))
        for part in (self.code[0], *parts):
            items += part
        if self.root is not None:
            items += [self.root.target, Op("CALL_INTRINSIC_1", 3), Op("RERAISE", 1)]
        template = _template.__code__.replace(co_name="f", co_qualname="f", co_filename="random")
        if generator:
            template = template.replace(co_flags=template.co_flags | 0x20)
        return assembler.assemble(items, template, tuple(self.consts), 60)


def _shared(one: Stack, other: Stack) -> int:
    """How many slots of ``one`` may stay where ``other`` is wanted; an iterator or an exception is a value too."""
    count = 0
    while count < min(len(one), len(other)):
        if one[count] != other[count] and (other[count] != VALUE or one[count] not in (ITERATOR, "e")):
            break
        count += 1
    return count


FEATURES = ("split", "odd", "delete", "unbound", "noise", "yield", "cycles", "leak")
"""``cycles``: what a handler raises may come to that handler again; ``leak``: handlers may raise without clean-up."""


def make(seed: int) -> types.CodeType:
    """Stack program number ``seed``: 2 to 40 blocks, up to five handlers."""
    pick = random.Random(seed)
    blocks = pick.choice([2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 25, 30, 40])
    handlers = min(pick.choice([0, 1, 1, 2, 3, 5]), blocks // 2)
    features = frozenset(name for name in FEATURES if pick.random() < 0.25)
    return Program(seed, blocks, handlers, features).build()
