def function_behind():
    try:
        assert a
        return
    except b as c:
        pass

    def inner():
        c


def walrus_behind(a):
    try:
        assert a
    except b:
        pass
    else:
        (c for d in a)
    return (c := "e")
