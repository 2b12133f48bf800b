# versions: 3.10+
def loop(items):
    for item in items:
        match item:
            case 0:
                continue
            case 1:
                break
            case [x, y]:
                use(x, y)
            case _:
                other(item)
        after(item)
    done()


def nested(a, b):
    match a:
        case 1:
            match b:
                case 2:
                    return "1-2"
                case _:
                    use(b)
        case _:
            return "other"
    return "end"
