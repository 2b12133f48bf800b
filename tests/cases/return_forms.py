def nothing():
    pass


def bare(a):
    if a:
        return
    use(a)


def many(a):
    if a == 1:
        return "one"
    if a == 2:
        return "two"
    use(a)
    return "many"


def tuple_value(a, b):
    return a, b


def star(a):
    return *a, 1
