# known: 3.10 the text reads differently
# known: 3.12+ the text reads differently
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
