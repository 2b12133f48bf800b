# versions: 3.11+
try:
    if a != x is not None:
        b = 1
except* KeyError:
    pass
try:
    match x:
        case [[1], h(h.X, m=None)]:
            pass
finally:
    pass
