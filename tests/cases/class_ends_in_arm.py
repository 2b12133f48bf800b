# versions: 3.11+
class Raises(a):
    async def m2(self, a):
        self.x = a

    if x:
        raise h
    else:
        y = 2


class Annotates(a):
    if b:
        z: int = log
    else:
        raise KeyError


class Asserts(a):
    if x:
        assert not x
        raise h
    else:
        y = 1


class Tries(a):
    try:
        y = 1
    except h:
        raise KeyError
    else:
        z = 1


if b:
    z: int = log
else:
    raise KeyError
