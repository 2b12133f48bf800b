def calls(f, a, b):
    f(*[] or [2])
    f(*a, *{} and (), **a or b)
    return f(**{"x": 2} or {})
