# versions: 3.14+
# known ugly: 3.14+ the text is not complete: no literal gives __const_NotImplementedError, __const_NotImplementedError__
def annotated(a: Later, b: list[Later] = None) -> Unknown:
    return a


class Record:
    x: Later
    y: list[Record] = None


z: Later = 1
