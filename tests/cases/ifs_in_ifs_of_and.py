# versions: 3.11+
def stored(a, b, c):
    if a and b:
        if c:
            a.x = b
    if not a and not b.done:
        if not c or c.x:
            a.y = b
            return a
    return None


def elifs(a, b, c):
    if a:
        print(a)
    elif b and a.x:
        if b.y and c:
            if c.z:
                print(b)


def looped(a, b, c):
    for x in a:
        if x and x in b:
            if x.done:
                with c:
                    print(x)
    if a and b:
        if c:
            for x in c:
                print(x)


def joined(some_name, another_name, third_name):
    if (
        some_name.could_be_anything_at_all
        and another_name.could_be_anything_at_all
        and third_name.could_be_anything_at_all
    ):
        return third_name
    return some_name
