# versions: 3.8-3.13
class Names:
    __annotations__["123"] = 123
    o: type = object
    __p: int = 3
    __annotations__["__q"] = 1


class Parts:
    x.y: int = 0
    x[0]: int = 5
    q: str = "a"
    r: str


class Bare:
    if False:
        (_): None


class Plain:
    __annotations__["x"] = 123


if a:
    x: int = 3
