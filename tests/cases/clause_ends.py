# versions: 3.8
def returns(a, b):
    {c for d in a}
    try:
        return b
    except KeyError as c:
        pass
    return 3


def written(a, b):
    {c for d in a}
    try:
        return b
    except KeyError as c:
        return 3


while a:
    try:
        b()
    except OSError as c:
        pass
    else:
        del d.e
