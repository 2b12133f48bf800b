def parse(sequence):
    if not sequence or sequence[0] != "<" or sequence[-1] != ">":
        return None
    words = sequence.split("-")
    if words and words[0] in names:
        kind = names[words[0]]
        del words[0]
    else:
        return None
    if kind is simple:
        detail = None
    else:
        detail = words
    return kind, detail


def nones(a, b):
    if a is not None or b is not None:
        one(a)
    if not (a and b):
        two(b)
    if not a or b is None:
        three(a)


def explicit_end(a, b):
    if a:
        one(a)
    else:
        two(b)
    return


def step_back(self, chars, want):
    while True:
        chars = chars[:-1]
        if len(chars) <= want or chars[-1] not in " ":
            break
    return chars
