# versions: 3.11+
"""Copies of one return end in one place of the source."""
def a(self):
    return self.d.n if self.d else None
def b(r):
    return -2 if r == -1 else r
def c(r):
    return x + y(r) if r else ''
def d(r):
    return x(r) if r else y
def e(r):
    if r == 1: return 2
    return r
def g(r):
    return 1 if r else 2
def h(r):
    try:
        return 1 if r else None
    finally:
        r()
def i(r):
    with r:
        return 1 if r else f()
def j(r):
    return 'a' if r else 'b' if s else None
def k(r):
    return r and 1 or 2
def l(r):
    try:
        return 1
    finally:
        r()
def m(r):
    for x in r:
        return x if x else 0
    return 5
o = lambda b: b.pop(-1) and None if b else None
def q(b):
    if c:
        return b or 1
    return 1
# output
"""Copies of one return end in one place of the source."""


def a(self):
    return self.d.n if self.d else None


def b(r):
    return -2 if r == -1 else r


def c(r):
    return x + y(r) if r else ""


def d(r):
    return x(r) if r else y


def e(r):
    if r == 1:
        return 2
    return r


def g(r):
    return 1 if r else 2


def h(r):
    try:
        return 1 if r else None
    finally:
        r()


def i(r):
    with r:
        return 1 if r else f()


def j(r):
    return "a" if r else "b" if s else None


def k(r):
    return r and 1 or 2


def l(r):
    r()
    return 1


def m(r):
    for x in r:
        return x if x else 0
    return 5


o = lambda b: b.pop(-1) and None if b else None


def q(b):
    if c:
        return b or 1
    return 1
