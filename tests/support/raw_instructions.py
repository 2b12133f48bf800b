"""Compares raw instructions of two texts, in the interpreter that compiles them; a program of its own, for Python 3.8 to 3.15.

Input: a line for each pair, the ``repr`` of (name, one text, the other, verdicts of the code objects of the first, outermost first).
Output: a line for each IDENTICAL code object that differs, and a last one that counts them.  Left out of account is what
``docs/reference/verdicts.md`` names, and nothing else.
"""

from __future__ import annotations

import ast
import dis
import sys
import types

NOTHING = {"NOP", "NOT_TAKEN", "CACHE", "EXTENDED_ARG", "RESUME", "PRECALL"}
JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD_NO_INTERRUPT"}
ENDS = JUMPS | {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
PARTS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
LONG = {"LOAD_FAST_BORROW": "LOAD_FAST", "LOAD_FAST_CHECK": "LOAD_FAST", "LOAD_SMALL_INT": "LOAD_CONST"}


def normal(code):
    """Operation, operand, place of the target, handler of each instruction that something reaches."""
    raw = [instr for instr in dis.get_instructions(code) if instr.opname != "CACHE"]
    index = {instr.offset: number for number, instr in enumerate(raw)}
    table = dis.Bytecode(code).exception_entries if sys.version_info >= (3, 11) else []
    reached = live(raw, index, table)
    kept = []
    place = {}
    for number, instr in enumerate(raw):
        if number not in reached or instr.opname in NOTHING:
            continue
        place[number] = len(kept)
        handler = handler_of(table, instr.offset)
        if instr.opname in PARTS:
            numbers = (instr.arg >> 4, instr.arg & 15)
            kept += [(op, code.co_varnames[at], None, handler) for op, at in zip(PARTS[instr.opname], numbers)]
        elif instr.opname == "RETURN_CONST":
            kept += [("LOAD_CONST", instr.argval, None, handler), ("RETURN_VALUE", None, None, handler)]
        elif jumps(instr):
            name = instr.opname.replace("_JUMP_FORWARD_", "_JUMP_").replace("_JUMP_BACKWARD_", "_JUMP_")
            kept.append(("JUMP" if name in JUMPS else name, None, instr.argval, handler))
        else:
            value = instr.arg if instr.opname == "LOAD_SMALL_INT" else instr.argval
            kept.append((LONG.get(instr.opname, instr.opname), value, None, handler))

    def resolved(offset):
        number = index[offset]
        while number not in place:
            number += 1
        return place[number]

    return [
        (
            op,
            value,
            target if target is None else resolved(target),
            entry and (resolved(entry.target), entry.depth, entry.lasti),
        )
        for op, value, target, entry in kept
    ]


def jumps(instr):
    return instr.opcode in dis.hasjrel or instr.opcode in dis.hasjabs


def handler_of(table, offset):
    return next((entry for entry in table if entry.start <= offset < entry.end), None)


def live(raw, index, table):
    """The numbers of the instructions that control may come to."""
    seen = set()
    bodies = bodies_of_finally(raw, index)
    work = [0]
    while work:
        while work:
            number = work.pop()
            if number in seen or number >= len(raw):
                continue
            seen.add(number)
            instr = raw[number]
            handler = handler_of(table, instr.offset)
            if jumps(instr):
                work.append(index[instr.argval])
            if handler is not None:
                work.append(index[handler.target])
            if instr.opname not in ENDS and number not in bodies:
                work.append(number + 1)
        for end, start in bodies.items():  # entered without an exception, it is left at its end
            called = any(raw[n].opname == "CALL_FINALLY" and index[raw[n].argval] == start for n in seen)
            if (
                end in seen
                and end + 1 not in seen
                and (called or start - 1 in seen and raw[start - 1].opname == "BEGIN_FINALLY")
            ):
                work.append(end + 1)
    return seen


def bodies_of_finally(raw, index):
    """3.8: END_FINALLY and where the handler that it ends begins."""
    targets = {index[instr.argval] for instr in raw if instr.opname.startswith("SETUP_") and jumps(instr)}
    found, open_ = {}, []
    for number, instr in enumerate(raw):
        if number in targets:
            open_.append(number)
        if instr.opname == "END_FINALLY" and open_:
            found[number] = open_.pop()
    return found


def key(value):
    """What tells constants apart; code objects are compared by themselves."""
    if isinstance(value, types.CodeType):
        return "code"
    if isinstance(value, tuple):
        return ("tuple", tuple(map(key, value)))
    if isinstance(value, frozenset):
        return ("frozenset", frozenset(map(key, value)))
    return (type(value).__name__, repr(value))


def noted(found, code):
    """``found`` with the compiler's own notes of a class about its text made alike (3.13+)."""
    result = list(found)
    if sys.version_info < (3, 13) or code.co_name == "<module>" or code.co_flags & 1:
        return result
    for at, (op, value, target, handler) in enumerate(found[:-1]):
        stored = found[at + 1][:2]
        if (
            op == "LOAD_CONST"
            and stored == ("STORE_NAME", "__firstlineno__")
            and found[at - 1][1] == "__qualname__"
            and value == code.co_firstlineno
        ):
            result[at] = (op, "line", target, handler)
        if op == "LOAD_CONST" and stored == ("STORE_NAME", "__static_attributes__"):
            result[at] = (op, tuple(sorted(value)), target, handler)
    return result


def difference(one, other):
    left, right = noted(normal(one), one), noted(normal(other), other)
    for number, (first, second) in enumerate(zip(left, right)):
        if (first[0], key(first[1]), first[2:]) != (second[0], key(second[1]), second[2:]):
            return "instruction %d: %r against %r" % (number, first, second)
    return "" if len(left) == len(right) else "%d instructions against %d" % (len(left), len(right))


def nested(code):
    return [const for const in code.co_consts if isinstance(const, types.CodeType)]


def pairs(one, other, verdicts):
    """The code objects that are IDENTICAL, each with the one of the same name and rank."""
    if verdicts.pop(0) == "IDENTICAL" and other is not None:
        yield one, other
    others = {}
    for inner in nested(other) if other is not None else ():
        others.setdefault(inner.co_name, []).append(inner)
    for inner in nested(one):
        rest = others.get(inner.co_name)
        yield from pairs(inner, rest.pop(0) if rest else None, verdicts)


def main():
    total = 0
    for line in sys.stdin:
        name, one, other, verdicts = ast.literal_eval(line)
        codes = [compile(text, "text", "exec", dont_inherit=True) for text in (one, other)]
        for first, second in pairs(*codes, list(verdicts)):
            total += 1
            found = difference(first, second)
            if found:
                print("%s %s: %s" % (name, first.co_name, found))
    print("%d compared" % total)


main()
