# versions: 3.8-3.8
while z:
    if x:
        continue
    try:
        b()
    except a as e:
        pass
    break
while z:
    try:
        b()
    except a as e:
        f()
        break
    c()
while z:
    try:
        b()
    except a as e:
        break
    c()


def shared(z, x):
    while z:
        if x:
            continue
        try:
            b()
        except ValueError as e:
            f()
        break
    return lambda: e
