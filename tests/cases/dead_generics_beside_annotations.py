# versions: 3.12-3.13
class Both:
    k = 1
    if 0:
        y: int
    if 0:
        def method[T](self, a: T) -> T:
            return a
# output
class Both:
    if False:
        type _ = None
    if False:
        (_): None
    k = 1
