# versions: 3.12+
from __future__ import annotations


class Generic[T]:
    if 0:
        def method[U](self: U) -> T:
            return self.value


class Plain:
    try:
        pass
    except KeyError:
        type Alias = list[int]

    def method(self):
        return self
# output
from __future__ import annotations


class Generic[T]:
    if False:
        type _ = None


class Plain:
    if False:
        type _ = None

    def method(self):
        return self
