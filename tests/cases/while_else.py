def search(a, b):
    while a:
        if b(a):
            break
        a = step(a)
    else:
        missing()
    return a


def search_return(a, b):
    while a:
        if b(a):
            found(a)
            break
        a = step(a)
    else:
        return None
    return a
