# versions: 3.14+
class Waiting:
    if forever:
        while True:
            wait()
    else:
        limit: int = 2


class Chosen:
    if forever:
        while True:
            wait()
    if never:
        raise ValueError
    else:
        limit: int
        rest = 1
