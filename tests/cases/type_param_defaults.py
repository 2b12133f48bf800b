# versions: 3.13+
# known: 3.13+ KeyError: <class 'depyf.tree.expr.TypeParam'>
# known ugly: 3.13+ KeyError: <class 'depyf.tree.expr.TypeParam'>
def first[T = int](items: list[T]) -> T:
    return items[0]


class Box[T = str, *Ts = *tuple[int, ...], **P = [int]]:
    pass


type Alias[T = None] = list[T]
