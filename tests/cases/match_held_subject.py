# versions: 3.10+
# known ugly: 3.10-3.13 q: FAILED original LOAD_GLOBAL E and recompiled LOAD_GLOBAL E: lifetimes differ: __temp_1 still holds an object that the original has released -- the temporary of the subject is read by the next match too: no statement can empty it where a case takes it
# known ugly: 3.12+ o.<locals>.f: FAILED original LOAD_GLOBAL E and recompiled LOAD_GLOBAL E: lifetimes differ: __temp_1 still holds an object that the original has released -- the temporary of the subject is read by the next match too: no statement can empty it where a case takes it
# known ugly: 3.14+ q: FAILED original LOAD_GLOBAL E and recompiled LOAD_GLOBAL E: lifetimes differ: __temp_0 still holds an object that the original has released -- the temporary of the subject is read by the next match too: no statement can empty it where a case takes it
"""Cases that always match, but for their guards: nothing but the value on the stack tells that they are some."""


def o(a):
    y = r = 0

    def f(b):
        global t
        nonlocal r, y
        match a:
            case _ if G if H else I:
                raise E
            case y if G is None:
                return 1
            case [1, *r] if [i for i in G]:
                f()
            case 1 | 2 if False:
                pass
            case t:
                return t

    return f, y


def p(a):
    for x in a:
        match x:
            case _ if 0 < G < 2:
                with D:
                    f()
            case y if G:
                b(y)
            case _ if w := g():
                return w, y
            case _:
                raise E


async def q(a):
    while a:
        match await a:
            case {"k": y} if G if H else I:
                raise E
            case y if await y:
                b()
            case _ if not y:
                raise E


def r(a):
    match a:
        case [y] if G:
            b()
        case 1 | 2 if False:
            pass
        case y:
            return y
    return 9
