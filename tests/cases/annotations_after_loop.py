# versions: 3.14+
class Ends:
    z: int = a
    while True:
        if z:
            x.m = f
        elif w:
            g()
        else:
            y[c] += a
            break
