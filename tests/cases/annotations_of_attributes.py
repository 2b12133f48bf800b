class OfAttribute:
    x.attr: int = 0


class OfItem:
    x[0]: list[int] = 0


x.attr: int = 4
(y): int = 3
# output: 3.14+
if False:
    (_): None


class OfAttribute:
    (_): None
    x.attr = 0


class OfItem:
    (_): None
    x[0] = 0


x.attr = 4
y = 3
