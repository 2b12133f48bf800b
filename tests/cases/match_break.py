# versions: 3.10+
def first_two(kind, first, second):
    while True:
        match first:
            case kind(a):
                break
    match second:
        case [a, b]:
            kind()
            return b
        case {"a": b}:
            return []


def until(read, log):
    while True:
        match read():
            case None:
                break
            case [a]:
                log(a)
            case {"end": _}:
                break
    log("done")
    if read:
        return log.lines
    return None


def until_found(items, log):
    for item in items:
        match item:
            case [a] if a:
                break
            case {"key": a}:
                log(a)
                return a
    else:
        log("none")
        return 0
    log("found")
    return item


def guarded(read, log):
    while True:
        match read():
            case [a, b] if a > b:
                break
            case str():
                log("text")
                continue
        log("next")
    while read():
        match log:
            case {"stop": True}:
                break
            case int(a):
                log(a)
    return a


def nested(read, log):
    while True:
        line = read()
        while True:
            match line:
                case [a, *line]:
                    log(a)
                case []:
                    break
        if log.done:
            break
    log.close()
    return line


def defaulted(items, log):
    for item in items:
        match item:
            case [a]:
                log(a)
                continue
            case {"key": a}:
                break
            case _:
                log("other")
    for item in items:
        match item:
            case [a]:
                log(a)
                continue
            case {"key": a}:
                break
        log("other")
    while items:
        match log:
            case [a, b]:
                log(b)
                continue
            case _:
                log("other")
                items.pop()
    return items
