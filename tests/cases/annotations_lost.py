# versions: 3.14+
class Endless:
    while True:
        a: int = 1
        if a:
            b: str


class Raises:
    with f():
        c: int = 2
    d: int = 3
    raise e


class Once(e):
    while True:
        f: int = g
        raise e
# output
class Endless:
    while True:
        a: None = 1
        if a:
            _: None


class Raises:
    with f():
        c: None = 2
    d = 3
    raise e


class Once(e):
    if True:
        f: None = g
    raise e
