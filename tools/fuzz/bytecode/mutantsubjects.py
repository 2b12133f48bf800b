"""The functions that ``mutantcfg`` changes: what a compiler makes of ordinary constructs; ``t`` is the tracer.

Every loop calls the tracer.  No keyword arguments by name: from 3.11 to 3.12 their names are state between two instructions.
"""

# ruff: noqa: E722
# mypy: ignore-errors
from __future__ import annotations

import sys


def branches(t, a, b, c, items):
    if t(1) and (a or t(2)):
        b = t(a, b)
    elif t(3) is None:
        c = 1 if t(4) else t(5)
    return t(b) + c if a < t(6) < 3 else [a, b, c]


def loops(t, a, b, c, items):
    while t(1):
        for a in items:
            if t(a):
                continue
            b = a
            if t(2) is None:
                break
        else:
            c = t(3)
        if t(b):
            return c
    return a, b


def handlers(t, a, b, c, items):
    try:
        a = t(1)
        try:
            b = t(2)
        except ValueError as error:
            c = t(error)
        except (KeyError, TypeError):
            t(3)
            raise
        else:
            t(4)
    except Exception:
        a = t(5)
        if a:
            raise
    finally:
        t(6)
    return a, b, c


def handlers_in_loop(t, a, b, c, items):
    for a in items:
        try:
            if t(a):
                continue
            b = t(b)
            if b:
                break
        except ValueError:
            t(1)
            continue
        except:
            return t(2)
        finally:
            t(3)
        c = t(4)
    return c


def retry(t, a, b, c, items):
    while True:
        t(1)
        try:
            return t(a, b)
        except KeyError as error:
            a = error
            if t(2):
                raise ValueError from error
        except ValueError:
            b = t(3)


def managers(t, a, b, c, items):
    with t as a:
        b = t(1)
        if b:
            return t(2)
    try:
        with t as b, t:
            c = t(3)
    except KeyError:
        t(4)
    return a, b, c


def generator(t, a, b, c, items):
    while t(1):
        a = yield b
        try:
            b = yield t(a)
        except ValueError:
            yield
        finally:
            t(2)
    yield from items
    return c


def generator_with(t, a, b, c, items):
    for a in items:
        with t as b:
            c = yield t(a)
            if c:
                return b
    yield t(3)


def displays(t, a, b, c, items):
    a = [t(1), *items, t(2)]
    b = {t(3): a, t(4): 1}
    c = {t(5), *items}
    return t(*a, t(6)), b, c, (*items, t(7)), f"{t(8)}x{a!r}"


def spread(t, a, b, c, items):
    a = t(*items, *([t(1)] if t(2) else [a]))
    b = t(t(3), *(items or ()))
    return a, b


def comprehensions(t, a, b, c, items):
    a = [t(b) for b in items if t(1)]
    b = {t(c): c for c in items}
    return a, b, [c for c in a if t(2)]


def closure(t, a, b, c, items):
    d = t(1)
    b = lambda: d  # noqa: E731
    for a in items:
        d = t(a)
        if d:
            c = b()
    return b, c


def unpacking(t, a, b, c, items):
    a, b = items
    a, b, c = b, t(1), a
    (a, *b) = items
    while t(2):
        a, b = t(3), a
        c = a = t(4)
    return [a, b, c]


def augmented(t, a, b, c, items):
    a += t(1)
    items[t(2)] += b
    b = -a
    while not t(3):
        a -= t(4)
        items[0] = a
        del items[1]
    return a, (b := t(5)), items[0:1]


def deletes(t, a, b, c, items):
    if t(1):
        del a
    try:
        t(a)
    except UnboundLocalError:
        a = t(2)
        del b
    return a, b


def chained(t, a, b, c, items):
    while 0 <= t(1) <= 2 != t(2):
        if not (t(3) or a and t(4) and b):
            c = t(5) if a else t(6) or b
        if c in items or b not in items:
            return c
    assert t(7), t(8)
    return None


def nested_finally(t, a, b, c, items):
    try:
        try:
            for a in items:
                if t(a):
                    return a
        finally:
            b = t(1)
    finally:
        if t(2):
            c = b
        t(3)
    return c


def handler_in_handler(t, a, b, c, items):
    try:
        a = t(1)
    except Exception as error:
        try:
            b = t(2)
        except ValueError:
            c = t(3)
        if t(4):
            t(error)
        else:
            raise
    return a, b, c


def matched(t, a, b, c, items):
    match t(1):
        case 1 | 2:
            a = t(2)
        case None:
            b = t(3)
        case [a, *b]:
            c = t(4)
        case _ if t(5):
            return b
    return a, b, c


async def coroutine(t, a, b, c, items):
    while t(1):
        try:
            a = await t
            b = [t(2), await t]
        except ValueError:
            await t
        finally:
            t(3)
    return a, b


SUBJECTS = [
    branches, loops, handlers, handlers_in_loop, retry, managers, generator, generator_with, displays, spread,
    comprehensions, closure, unpacking, augmented, deletes, chained, nested_finally, handler_in_handler, matched,
    coroutine,
]  # fmt: skip
if sys.version_info >= (3, 12):
    SUBJECTS.remove(comprehensions)  # inlined; no source says it once it is torn apart (docs/reference/limits.md)
