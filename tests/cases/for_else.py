# known: 3.10 nested: the compiler copies the short return to the break; the copy is shown where it lies
# known: 3.10 with_return: the compiler copies the short return to the break; the copy is shown where it lies
# known: 3.12+ with_return: the compiler copies the short return to the break; the copy is shown where it lies
def search(items):
    for item in items:
        if item:
            break
    else:
        missing()
    return item


def nested(rows):
    for row in rows:
        for cell in row:
            if cell:
                break
        else:
            continue
        break
    else:
        missing()


def with_return(items):
    for item in items:
        if use(item):
            found(item)
            break
    else:
        return 0
    return 1
# written: 3.10
def search(items):
    for item in items:
        if item:
            break
    else:
        missing()
    return item


def nested(rows):
    for row in rows:
        for cell in row:
            if cell:
                break
        else:
            continue
        return
    missing()


def with_return(items):
    for item in items:
        if use(item):
            found(item)
            return 1
    return 0
# written: 3.12+
def search(items):
    for item in items:
        if item:
            break
    else:
        missing()
    return item


def nested(rows):
    for row in rows:
        for cell in row:
            if cell:
                break
        else:
            continue
        break
    else:
        missing()


def with_return(items):
    for item in items:
        if use(item):
            found(item)
            return 1
    return 0
