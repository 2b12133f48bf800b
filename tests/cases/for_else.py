# known: 3.10 the text reads differently
# known: 3.12+ the text reads differently
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
