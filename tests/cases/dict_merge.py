# versions: 3.9+
def merge(a, b):
    a |= b
    return {**a, **b}


@lambda f: f
def decorated():
    return {"x": 1} | {"y": 2}
