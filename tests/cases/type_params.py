# versions: 3.12+
def first[T](items: list[T]) -> T:
    return items[0]


def bounded[T: int, *Ts, **P](a: T, *args: *Ts) -> T:
    return a


class Box[T]:
    item: T

    def get(self) -> T:
        return self.item


class Child[T: (int, str)](Base[T], key=1):
    pass


type Alias = list[int]
type Pair[A, B] = tuple[A, B]
type Recursive = dict[str, Recursive]
