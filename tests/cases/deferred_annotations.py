# versions: 3.14+
def annotated(a: Later, b: list[Later] = None) -> Unknown:
    return a


class Record:
    x: Later
    y: list[Record] = None


z: Later = 1
