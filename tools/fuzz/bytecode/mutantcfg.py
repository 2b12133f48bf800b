"""Mutants of compiled functions, for the fuzzer: what a compiler wrote, torn apart and joined in other ways.

Where ``randomcfg``, ``hostilecfg`` and ``rangecfg`` write programs, this starts from real functions (``SUBJECTS``): loops,
handlers, managers, generators, coroutines, closures, comprehensions, calls with stars.  Jumps are redirected, blocks
duplicated, split and put in another order, protected ranges moved, handlers exchanged, stacks shuffled; values are
carried below whole parts of the graph, through loops and handlers (``Carry``).  Each mutation is kept only if every
slot still holds what its users need (``mutantstack``), and every run still ends.
"""

from __future__ import annotations

import copy
import dis
import functools
import random
import types
from dataclasses import dataclass, field

from tools.fuzz.bytecode import assembler, mutantstack
from tools.fuzz.bytecode.assembler import VERSION, Label, Protection
from tools.fuzz.bytecode.mutantsubjects import SUBJECTS

FIRST = 400_000
"""The number of the first mutant."""
_EXPANDED = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
_PLAIN = {"LOAD_FAST_BORROW": "LOAD_FAST", "LOAD_FAST_CHECK": "LOAD_FAST"}
_JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD_NO_INTERRUPT"}
_ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}


@dataclass(eq=False, repr=False)
class Handler:
    block: Block
    depth: int
    lasti: bool


@dataclass(eq=False, repr=False)
class Ins:
    """``target`` is where a conditional jump or an exhausted ``FOR_ITER`` goes."""

    name: str
    arg: int = 0
    target: Block | None = None
    handler: Handler | None = None


@dataclass(eq=False, repr=False)
class Block:
    ops: list[Ins] = field(default_factory=list)
    next: Block | None = None


class Body:
    """The code of one function as blocks; ``blocks[0]`` is the entry."""

    def __init__(self, code: types.CodeType) -> None:
        self.consts: list[object] = list(code.co_consts)
        self.code = code
        self.blocks: list[Block] = []
        self.root: Handler | None = None
        """In a generator of 3.12 and later, what keeps ``StopIteration`` in."""

    def reachable(self) -> list[Block]:
        seen: dict[Block, None] = {self.blocks[0]: None}
        work = [self.blocks[0]]
        while work:
            block = work.pop()
            found = [block.next] if block.next is not None else []
            for op in block.ops:
                found += [t for t in (op.target, op.handler.block if op.handler else None) if t is not None]
            for other in found:
                if other not in seen:
                    seen[other] = None
                    work.append(other)
        return list(seen)


def _read(code: types.CodeType) -> list[tuple[int, str, int, int | None]]:
    """Offset, name, argument and jump target of each instruction, ``yield from`` and ``await`` as one ``DELEGATE``."""
    found: list[tuple[int, str, int, int | None]] = []
    skip_to = -1
    instrs = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "PRECALL")]
    for at, ins in enumerate(instrs):
        if ins.offset < skip_to:
            continue
        jumps = ins.opcode in dis.hasjrel or ins.opcode in dis.hasjabs
        name, arg = _PLAIN.get(ins.opname, ins.opname), ins.arg or 0
        if name in _EXPANDED:
            first, second = _EXPANDED[name]
            found += [(ins.offset, first, arg >> 4, None), (ins.offset, second, arg & 15, None)]
        elif name == "SEND":
            found[-1] = (found[-1][0], "DELEGATE", 0, None)  # in place of LOAD_CONST None
            skip_to = ins.argval
            if VERSION >= (3, 12):
                skip_to = next(i.offset for i in instrs[at:] if i.opname == "END_SEND" and i.offset >= ins.argval) + 2
        elif name == "END_FOR":
            found.append((ins.offset, name, 0, None))
            if VERSION >= (3, 13):
                skip_to = ins.offset + 4  # with the POP_TOP after it
        else:
            found.append((ins.offset, name, arg, ins.argval if jumps else None))
    return found


def parse(code: types.CodeType) -> Body:
    body = Body(code)
    rows = _read(code)
    starts = {row[3] for row in rows if row[3] is not None}
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    starts |= {entry.target for entry in table}
    blocks: dict[int, Block] = {}
    current = Block()
    body.blocks.append(current)
    made: list[tuple[Ins, int, int | None]] = []
    ended = False
    for offset, name, arg, target in rows:
        if (offset in starts and offset not in blocks) or ended:
            new = Block()
            if not ended:
                current.next = new
            current = new
            body.blocks.append(new)
            ended = False
        if offset in starts:
            blocks.setdefault(offset, current)
        if name in _JUMPS:
            made.append((ins := Ins("JUMP", 0), offset, target))
            current.ops.append(ins)
            ended = True
            continue
        if name == "END_FOR":
            # part of the edge that an exhausted FOR_ITER takes
            new = Block()
            for at in [at for at, known in blocks.items() if known is current and at == offset]:
                blocks[at] = new
            if current.ops:
                current.next = new
            current = new
            body.blocks.append(new)
            continue
        if name.startswith("POP_JUMP"):
            kind = name.removeprefix("POP_JUMP_").replace("FORWARD_", "").replace("BACKWARD_", "").removeprefix("IF_")
            name = f"JUMP_IF_{kind}"
        elif name in ("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"):
            copied = Ins("COPY", 1)
            made.append((copied, offset, None))
            current.ops.append(copied)
            name = name.removesuffix("_OR_POP")
            made.append((ins := Ins(name, 0), offset, target))
            current.ops.append(ins)
            new = Block()
            current.next = new
            current = new
            body.blocks.append(new)
            made.append((ins := Ins("POP_TOP", 0), offset, None))
            current.ops.append(ins)
            continue
        if name in ("TO_BOOL", "NOT_TAKEN", "NOP", "EXTENDED_ARG") or name == "RESUME" and arg:
            continue
        made.append((ins := Ins(name, arg), offset, target))
        current.ops.append(ins)
        if name == "RESUME":
            new = Block()  # what stands before it is not changed
            current.next = new
            current = new
            body.blocks.append(new)
        if name in _ENDS:
            ended = True
        elif target is not None:
            new = Block()
            current.next = new
            current = new
            body.blocks.append(new)
    handlers = [(e.start, e.end, Handler(blocks[e.target], e.depth, e.lasti)) for e in table if e.target in blocks]
    for ins, offset, target in made:
        if target is not None:
            ins.target = blocks.get(target)  # that of a delegation's own instructions is not there
        ins.handler = next((h for start, end, h in handlers if start <= offset < end), None)
    for block in body.blocks:
        if block.ops and block.ops[-1].name == "JUMP":
            block.next = block.ops.pop().target
    if VERSION >= (3, 12) and body.blocks[0].ops[0].name in ("RETURN_GENERATOR", "COPY_FREE_VARS", "MAKE_CELL"):
        wrappers = [h for _, _, h in handlers if h.block.ops and h.block.ops[0].name == "CALL_INTRINSIC_1"]
        body.root = next((h for h in wrappers if h.block.ops[0].arg == 3), None)
    return body


class Mutation:
    """Random changes of one body."""

    def __init__(self, body: Body, pick: random.Random) -> None:
        self.body = body
        self.pick = pick

    def run(self) -> bool:
        """One change; False where it found nothing to do."""
        if self.body.code.co_varnames[0] in self.body.code.co_cellvars:
            kinds: tuple[str, ...] = (
                "redirect",
                "duplicate",
                "split",
                "cover",
                "exchange",
            )  # no way to call the tracer
            return bool(getattr(self, self.pick.choice(kinds))())
        kinds = (
            "redirect",
            "redirect",
            "duplicate",
            "split",
            "shuffle",
            "shuffle",
            "cover",
            "exchange",
            "carry",
            "call",
        )
        return bool(getattr(self, self.pick.choice(kinds))())

    def block(self) -> Block:
        return self.pick.choice(self.blocks())

    def blocks(self) -> list[Block]:
        """All but what keeps ``StopIteration`` in: no source says a generator without it."""
        wrapper = self.body.root.block if self.body.root is not None else None
        return [block for block in self.body.reachable() if block is not wrapper]

    def edges(self) -> list[tuple[Block, Ins | None]]:
        found: list[tuple[Block, Ins | None]] = []
        for block in self.body.reachable():
            found += [(block, op) for op in block.ops if op.target is not None]
            if block.next is not None:
                found.append((block, None))
        return found

    def redirect(self) -> bool:
        edges = self.edges()
        if not edges:
            return False
        states = mutantstack.entries(self.body) or {}
        block, op = self.pick.choice(edges)
        old = op.target if op is not None else block.next
        alike = [b for b in self.blocks()[1:] if states.get(b) == states.get(old) and b is not old]
        if not alike:
            return False
        self._point(block, op, self.pick.choice(alike))
        return True

    def _point(self, block: Block, op: Ins | None, to: Block) -> None:
        if op is None:
            block.next = to
        else:
            op.target = to

    def duplicate(self) -> bool:
        block, op = self.pick.choice(self.edges() or [(self.body.blocks[0], None)])
        old = op.target if op is not None else block.next
        if old is None:
            return False
        new = Block([copy.copy(each) for each in old.ops], old.next)
        self._point(block, op, new)
        return True

    def split(self) -> bool:
        block = self.block()
        if len(block.ops) < 2 or block is self.body.blocks[0]:
            return False
        at = self.pick.randrange(1, len(block.ops))
        block.next, block.ops, rest = Block(block.ops[at:], block.next), block.ops[:at], None
        return rest is None

    def shuffle(self) -> bool:
        """Stack instructions that put things elsewhere, or do nothing together."""
        block, pick = self.block(), self.pick
        if block is self.body.blocks[0]:
            return False
        at = pick.randrange(len(block.ops) + 1) if block.next is not None else pick.randrange(max(1, len(block.ops)))
        handler = pick.choice([op.handler for op in block.ops] or [None])
        deep = pick.randrange(2, 5)
        local = pick.randrange(5)
        new: list[tuple[str, int]] = pick.choice(
            [
                [("NOP", 0)],
                [("SWAP", deep)],
                [("SWAP", deep), ("SWAP", deep)],
                [("SWAP", 2), ("SWAP", 3), ("SWAP", 2)],
                [("COPY", deep), ("POP_TOP", 0)],
                [("COPY", 1), ("SWAP", deep), ("POP_TOP", 0)],
                [("COPY", 1), ("BUILD_TUPLE", 1), ("POP_TOP", 0)],
                [("BUILD_TUPLE", 2), ("UNPACK_SEQUENCE", 2)],
                [("LOAD_FAST", local), ("SWAP", 2), ("POP_TOP", 0)],
                [("LOAD_FAST", local), ("POP_TOP", 0)],
                [("LOAD_CONST", 0), ("SWAP", 2), ("STORE_FAST", 1 + local % 3)],
                [("COPY", 1), ("STORE_FAST", 1 + local % 3)],
                [("COPY", 1), ("GIVE", 0), ("POP_TOP", 0)],
                [("DELETE_FAST", 1 + local % 3)],
            ]
        )
        block.ops[at:at] = [Ins(name, arg, None, handler) for name, arg in new]
        return True

    def call(self) -> bool:
        """A call of the tracer, of its own or in place of a value."""
        block, pick = self.block(), self.pick
        if block is self.body.blocks[0] or not block.ops:
            return False
        at = pick.randrange(len(block.ops))
        handler = block.ops[at].handler
        new = [Ins("PUSH_CALLABLE", 0), Ins("LOAD_FAST", pick.randrange(1, 5)), Ins("INVOKE", 1)]
        new.append(Ins(*pick.choice([("POP_TOP", 0), ("STORE_FAST", 1), ("STORE_FAST", 2)])))
        for op in new:
            op.handler = handler
        block.ops[at:at] = new
        return True

    def handlers(self) -> list[Handler]:
        found: dict[Handler, None] = {}
        for block in self.body.reachable():
            for op in block.ops:
                if op.handler is not None and op.handler is not self.body.root:
                    found[op.handler] = None
        return list(found)

    def cover(self) -> bool:
        """A run of instructions gets the handler of others, a new one at another depth, or none."""
        block, pick = self.block(), self.pick
        handlers = self.handlers()
        if not handlers or len(block.ops) < 1 or block is self.body.blocks[0]:
            return False
        first = pick.randrange(len(block.ops))
        last = pick.randrange(first, len(block.ops))
        old = pick.choice(handlers)
        roll = pick.random()
        handler: Handler | None = old
        if roll < 0.15:
            handler = None
        elif roll < 0.4:
            target = self.block() if pick.random() < 0.3 else old.block
            handler = Handler(
                target, max(0, old.depth + pick.choice([-1, 0, 0, 1])), old.lasti != (pick.random() < 0.2)
            )
        for op in block.ops[first : last + 1]:
            op.handler = handler
        return True

    def exchange(self) -> bool:
        """A handler goes where another one goes."""
        handlers = self.handlers()
        if len(handlers) < 2:
            return False
        one, other = self.pick.sample(handlers, 2)
        if self.pick.random() < 0.5:
            one.block, other.block = other.block, one.block
        else:
            one.block = other.block
        return True

    def carry(self) -> bool:
        """A value below all others, through a copy of a part of the graph."""
        edges = [(block, op) for block, op in self.edges() if block is not self.body.blocks[0] or op is None]
        states = mutantstack.entries(self.body)
        if not edges or states is None:
            return False
        block, op = self.pick.choice(edges)
        old = op.target if op is not None else block.next
        if old is None or old not in states or len(states[old]) > 4:
            return False
        depth = len(states[old])
        into = Block([Ins("LOAD_FAST", self.pick.randrange(1, 5))] + [Ins("SWAP", n) for n in range(depth + 1, 1, -1)])
        into.next = Carry(self.body, self.pick, states).block(old)
        self._point(block, op, into)
        return True


class Carry:
    """Copies blocks for a stack with one more value at the bottom; some edges drop it and lead back."""

    def __init__(self, body: Body, pick: random.Random, states: dict[Block, tuple[str, ...]]) -> None:
        self.pick = pick
        self.states = states
        self.root = body.root
        self.copies: dict[Block, Block] = {}
        self.covers: dict[Handler, Handler | None] = {}

    def block(self, old: Block) -> Block:
        new = self.copies.get(old)
        if new is None:
            new = self.copies[old] = Block()
            new.ops = [copy.copy(op) for op in old.ops]
            for op in new.ops:
                if op.target is not None:
                    op.target = self.edge(op.target)
                op.handler = self.handler(op.handler)
            if old.next is not None:
                new.next = self.edge(old.next)
        return new

    def edge(self, old: Block) -> Block:
        depth = len(self.states.get(old, ()))
        if old in self.copies and self.pick.random() < 0.8 or depth > 4 or self.pick.random() < 0.6:
            return self.block(old)
        back = Block([Ins("SWAP", n) for n in range(2, depth + 2)])
        use = self.pick.choice(["drop", "drop", "store", "give"])
        if use == "give":
            back.ops += [Ins("GIVE", 0), Ins("POP_TOP")]
        else:
            back.ops.append(Ins("POP_TOP") if use == "drop" else Ins("STORE_FAST", self.pick.randrange(1, 4)))
        back.next = old
        return back

    def handler(self, old: Handler | None) -> Handler | None:
        if old is None or old is self.root:
            return old
        if old not in self.covers:
            if old.depth == 0 and self.pick.random() < 0.3:
                self.covers[old] = old
            else:
                new = self.covers[old] = Handler(old.block, old.depth + 1, old.lasti)
                new.block = self.block(old.block)
        return self.covers[old]


def emit(body: Body, pick: random.Random) -> types.CodeType:
    """The code object, its blocks in random order."""
    blocks = body.reachable()
    first, rest = blocks[0], blocks[1:]
    if pick.random() < 0.7:
        pick.shuffle(rest)
    else:
        rest.sort(key=lambda block: body.blocks.index(block) if block in body.blocks else len(body.blocks))
    labels = {block: Label() for block in blocks}
    protections: dict[Handler, Protection] = {}

    def protection(handler: Handler | None, wrapped: bool) -> Protection | None:
        handler = handler or (body.root if wrapped else None)
        if handler is None:
            return None
        if handler not in protections:
            protections[handler] = Protection(labels[handler.block], handler.depth, handler.lasti)
        return protections[handler]

    if None not in body.consts:
        body.consts.append(None)
    none = body.consts.index(None)
    items: list[assembler.Item] = []
    late: list[assembler.Item] = []
    unsure = mutantstack.unsure(body) if VERSION >= (3, 12) else set()
    order = [first, *rest]
    for at, block in enumerate(order):
        items.append(labels[block])
        wrapped = body.root is not None and block is not body.root.block
        for op in block.ops:
            started = block is not first or any(p.name == "RESUME" for p in block.ops[: block.ops.index(op) + 1])
            cover = protection(op.handler, wrapped and started)
            name = "LOAD_FAST_CHECK" if op in unsure else op.name
            if name == "DELEGATE":
                items += _delegate(cover, mutantstack.depth_at(body, block, op), none)
            elif name == "FOR_ITER":
                done = Label()
                items.append(assembler.Op(name, done, cover))
                late += [done, *(assembler.Op(n, a, cover) for n, a in assembler.spelled("LOOP_END", 0))]
                assert op.target is not None
                late.append(assembler.Op("JUMP", labels[op.target], cover))
            elif name == "YIELD_VALUE":
                items += [assembler.Op(n, a, cover) for n, a in assembler.spelled("YIELD", 0)]
            elif op.target is not None:
                items.append(assembler.Op(name, labels[op.target], cover))
            elif name == "CALL":
                items += [assembler.Op(n, a, cover) for n, a in assembler.spelled("INVOKE", op.arg)]
            elif name == "UNARY_NOT":
                items += [assembler.Op(n, a, cover) for n, a in assembler.spelled("NEGATE", 0)]
            else:
                items.append(assembler.Op(name, op.arg, cover))
        if block.next is not None and (at + 1 == len(order) or order[at + 1] is not block.next):
            items.append(assembler.Op("JUMP", labels[block.next], protection(None, wrapped and block is not first)))
    return assembler.assemble([*items, *late], body.code, tuple(body.consts), 80)


def _delegate(cover: Protection | None, depth: int, none: int) -> list[assembler.Item]:
    """The loop of ``yield from`` and ``await`` as the compiler writes it."""
    again, done, failed = Label(), Label(), Label()
    op = assembler.Op
    out: list[assembler.Item] = [op("LOAD_CONST", none, cover), again, op("SEND", done, cover)]
    inner = Protection(failed, depth + 1, False) if VERSION >= (3, 12) else cover
    out += [
        op("YIELD_VALUE", 1 if VERSION >= (3, 13) else 2 if VERSION == (3, 12) else 0, inner),
        op("RESUME", 2, cover),
    ]
    out.append(op("JUMP_BACKWARD_NO_INTERRUPT", again, cover))
    if VERSION >= (3, 12):
        out += [failed, op("CLEANUP_THROW", 0, cover), done, op("END_SEND", 0, cover)]
    else:
        out.append(done)
    return out


@functools.cache
def _parsed(index: int) -> Body:
    return parse(SUBJECTS[index].__code__)


@functools.cache
def _understood() -> list[int]:
    """The subjects whose instructions ``mutantstack`` knows: all on 3.11 to 3.13."""
    return [i for i in range(len(SUBJECTS)) if mutantstack.entries(_parsed(i)) and mutantstack.ends(_parsed(i))]


def make(seed: int) -> types.CodeType:
    """Mutant number ``seed``."""
    pick = random.Random(seed)
    body = copy.deepcopy(_parsed(pick.choice(_understood())))
    wanted = pick.choice([1, 2, 4, 8, 12, 20])
    for _ in range(3 * wanted):
        if wanted == 0:
            break
        kept = copy.deepcopy(body)
        if Mutation(body, pick).run() and len(body.reachable()) <= 60 and mutantstack.fits(body):
            wanted -= 1
        else:
            body = kept
    return emit(body, pick).replace(co_name="f", co_qualname="f", co_filename="random")
