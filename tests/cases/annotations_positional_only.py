def f(first: int, /, second: str, *rest: bytes, named: list, **more: bool) -> tuple:
    pass


def g(first: int, second: int = 2, /, third: str = "") -> None:
    @register
    def inner(one: str, /, two: int):
        return "str"
    return inner


async def h(x: undefined, /, y: undefined, *, z: undefined) -> undefined:
    pass
# output
def f(first: int, /, second: str, *rest: bytes, named: list, **more: bool) -> tuple:
    pass


def g(first: int, second: int = 2, /, third: str = "") -> None:
    @register
    def inner(one: str, /, two: int):
        return "str"

    return inner


async def h(x: undefined, /, y: undefined, *, z: undefined) -> undefined:
    pass
