# versions: 3.8-3.13
(pars): bool = True
if x:
    y.z: int = 4


class Kept:
    __annotations__["123"] = 123
    attr: int = 0


class Evaluated:
    no_such.attr: int = 0
    a[3]: str = 5


class Unused:
    if False:
        (_): None


class Own:
    __annotations__["x"] = 5
