def displays(a, b):
    one = {**{"a": 1}}
    two = {**{"a": a}, "b": 2, **b}
    three = [*(1, 2), a, *(1, 2, 3)]
    four = {*(1, 2, 3), a, *{1, 2, 3}}
    five = *(1, 2), *(3, 4), a
    return 1, 2, *(a,), *[], *()


def calls(a, b):
    f(*(a, b))
    f(*(a, *b), **a)
    f(*[a, *b])
    f(*(1, 2), *a, *(3, 4), *(b, 2))
    f(*{"a": 1}, **{"b": 2})
    f(**{"a": 1, "b c": 2}, q=3)
    f(*a, **{"a": 1, "b c": 2})
    f(**{"a": 1}, b=1, **{"c": 2})
    f(**{"class": a}, **b)
    f(**{**a})
    return f(*(*a,), **{})


class C(*(a, b), *c, **{"metaclass": 1}):
    pass
# output: 3.8
def displays(a, b):
    one = {**{"a": 1}}
    two = {"a": a, **{"b": 2}, **b}
    three = [1, 2, *(a,), 1, 2, 3]
    four = {*(1, 2, 3), a, *{1, 2, 3}}
    five = 1, 2, *(3, 4), a
    return 1, 2, *(a,), *[], *()


def calls(a, b):
    f(*(a, b))
    f(*(a, *b), **a)
    f(*[a, *b])
    f(1, 2, *a, 3, 4, *(b, 2))
    f(*{"a": 1}, b=2)
    f(**{"a": 1, "b c": 2}, q=3)
    f(*a, **{"a": 1, "b c": 2})
    f(a=1, **{"b": 1}, c=2)
    f(**{"class": a}, **b)
    f(**{**a})
    return f(*(*a,), **{})


class C(*(a, b), *c, metaclass=1):
    pass
# output
def displays(a, b):
    one = {**{"a": 1}}
    two = {**{"a": a}, "b": 2, **b}
    three = [*(1, 2), a, *(1, 2, 3)]
    four = {*(1, 2, 3), a, *{1, 2, 3}}
    five = *(1, 2), *(3, 4), a
    return 1, 2, *(a,), *[], *()


def calls(a, b):
    f(*(a, b))
    f(a, *b, **a)
    f(*[a, *b])
    f(*(1, 2), *a, *(3, 4), *(b, 2))
    f(*{"a": 1}, **{"b": 2})
    f(**{"a": 1, "b c": 2}, q=3)
    f(*a, **{"a": 1, "b c": 2})
    f(**{"a": 1}, b=1, **{"c": 2})
    f(**{"class": a}, **b)
    f(**{**a})
    return f(*(*a,), **{})


class C(*(a, b), *c, **{"metaclass": 1}):
    pass
