# versions: 3.10+
def mapping(a):
    match a:
        case {}:
            return 0
        case {"x": 1, "y": y}:
            return y
        case {"k": [a, b], **rest}:
            return a, b, rest
        case {module.KEY: {"deep": value}}:
            return value
