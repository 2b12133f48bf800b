def always(n, y):
    a = [x for x in n if f(x) or True]
    b = {x for x in n if x and y or True}
    return a, b
