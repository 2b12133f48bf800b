# versions: 3.11+
def case_continue(tokens):
    for token in tokens:
        match token:
            case str():
                continue
            case None:
                return None
            case 1:
                pass


def before_code(tokens):
    for token in tokens:
        match token:
            case str():
                continue
            case None:
                return None
            case 1:
                g()
        h()
