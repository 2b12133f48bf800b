# versions: 3.10+
def literal(a):
    match a:
        case 1:
            return "one"
        case -2.5 | "text" | b"bytes":
            return "several"
        case None:
            return "none"
        case True | False:
            return "bool"
        case 1 + 2j:
            return "complex"
        case module.CONSTANT:
            return "dotted"
        case _:
            return "other"


def no_default(a):
    match a:
        case 1:
            one()
        case 2:
            two()
    after()
