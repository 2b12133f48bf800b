# versions: 3.12-3.13
def nested(a, b, c):
    x = (a and b) and c
    return x
