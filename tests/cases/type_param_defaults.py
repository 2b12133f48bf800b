# versions: 3.13+
def first[T = int](items: list[T]) -> T:
    return items[0]


class Box[T = str, *Ts = *tuple[int, ...], **P = [int]]:
    pass


type Alias[T = None] = list[T]
