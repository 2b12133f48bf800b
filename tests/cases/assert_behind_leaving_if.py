def f(self, a):
    if a:
        if a.b == "error":
            raise RuntimeError(a)
        assert a.c == "OK"
        raise Other()


def g(self, objects, errors):
    if errors:
        return objects, errors
    assert len(objects) == 1
    x = objects[0]
    try:
        x()
    except E:
        x = 3
    return objects, errors


def h(self, objects, errors):
    if errors:
        return objects, errors
    assert len(objects) == 1
    x = objects[0]
    return x
