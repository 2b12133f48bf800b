from __future__ import annotations
from typing import Callable
class C:
    a = None  # type: x
    b: Callable[..., None] = 3
    c: Callable[(..., None)] = 3
    d: Callable[[], None] = 3
    e: Tuple[()] = 3
    f: Tuple[int, ...]
    h: Literal["a", ("b", ...), -1] | Tuple[Ellipsis, None]
    def g(a: Callable[..., None], *b: Dict[str, Tuple[int, ...]], c: "Callable[..., None]" = 3) -> X[..., Y[1:2, ...]]: pass
# output
from __future__ import annotations
from typing import Callable


class C:
    a = None
    b: Callable[..., None] = 3
    c: Callable[..., None] = 3
    d: Callable[[], None] = 3
    e: Tuple[()] = 3
    f: Tuple[int, ...]
    h: Literal['a', ('b', ...), -1] | Tuple[Ellipsis, None]

    def g(
        a: Callable[..., None], *b: Dict[str, Tuple[int, ...]], c: 'Callable[..., None]' = 3
    ) -> X[..., Y[1:2, ...]]:
        pass
