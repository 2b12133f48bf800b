# versions: 3.10+
# known ugly: 3.10-3.11 <module>: FAILED original LOAD_NAME E and recompiled LOAD_NAME E: lifetimes differ: __temp_13 still holds an object that the original has released -- the subject would need a variable, and those of a module are seen
# known ugly: 3.14+ <module>: FAILED original LOAD_NAME E and recompiled LOAD_NAME E: lifetimes differ: __temp_13 still holds an object that the original has released -- the subject would need a variable, and those of a module are seen
# known ugly: 3.10+ K: FAILED original STORE_NAME z and recompiled STORE_NAME z: lifetimes differ: _K__temp_5 still holds an object that the original has released -- the subject would need a variable, and those of a class are seen
# known ugly: 3.12-3.13 <module>: FAILED original LOAD_NAME E and recompiled LOAD_NAME E: lifetimes differ: __temp_14 still holds an object that the original has released -- the subject would need a variable, and those of a module are seen
"""A value on the stack while guards are tested: no variable can hold it in a module or class."""

match value():
    case y if C:
        f()
    case _ if B:
        g()
    case _:
        raise E
match a, b:
    case _ if G:
        f()
    case _ if H:
        raise E
    case _:
        pass
match a:
    case _ if [i for i in G]:
        f()
    case None if G or H:
        while D:
            f()
    case 1 | 2 if G if H else I:
        pass
    case y:
        raise E
while a:
    match a.b:
        case {"k": y} if G if H else I:
            raise E
        case 1 as z if False:
            pass
        case z if w := g():
            break
        case [1, *r] if 0 < G < 2:
            continue
    after()


class K:
    match value():
        case y if C:
            f()
        case _ if B:
            g()
        case _:
            raise E
    match x:
        case y if G and (H or I):
            z = 1
        case _ if not G:
            z = 2
        case K(v) | [v]:
            z = v


try:
    f()
except E:
    match a, b:
        case _ if [i for i in G]:
            if D:
                raise E
        case [y]:
            f()
        case None if g():
            f()
finally:
    match value():
        case y if C:
            f()
        case _ if B:
            g()
        case _:
            raise E
