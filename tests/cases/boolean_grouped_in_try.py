# versions: 3.14+
def grouped(a, b, c, f):
    try:
        a -= (a and b) and c
        return f((a or b) or c)
    except ValueError as e:
        return (a or b) or c
