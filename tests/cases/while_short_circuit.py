def trim(a, b):
    post = 0
    while a[: post or None] and b[: post or None] and a[post - 1] == b[post - 1]:
        post -= 1
    return post


def called(f, a, b):
    while f(a or b):
        a = f(a)
        while f(a if b else f(b)) and b:
            b -= 1
    return a
