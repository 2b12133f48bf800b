# versions: 3.10+
def lists(e):
    return [(lambda: i) for t in e if 0 for i in t]


def dicts(e):
    return {i: (j for j in t if i) for t in e if "" for i in t}


def generators(e):
    return ((lambda: i) for t in e if 0 for i in t)
# output: 3.10-3.11
def lists(e):
    return [(lambda: i) for t in e if False for i in ()]


def dicts(e):
    return {(lambda: i): None for t in e if False for i in ()}


def generators(e):
    return ((lambda: i) for t in e if False for i in ())
# output: 3.12+
def lists(e):
    return [[lambda: i for i in ()] for t in e if False]


def dicts(e):
    return {[lambda: i for i in ()]: None for t in e if False}


def generators(e):
    return ((lambda: i) for t in e if False for i in ())
