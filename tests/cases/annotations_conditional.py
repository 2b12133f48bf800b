class Inside:
    with a as b:
        f: int
    try:
        f: str = 3
    except E:
        h: int
    for x in y:
        k: int
    else:
        l: int
    while x:
        n: int = 4
    if x:
        pass
    elif y:
        o: int


if a:
    p: int = 1
for q in a:
    r: str
# output: 3.8-3.13
class Inside:
    with a as b:
        f: int
    try:
        f: str = 3
    except E:
        h: int
    for x in y:
        k: int
    l: int
    while x:
        n: int = 4
    if x:
        pass
    elif y:
        o: int


if a:
    p: int = 1
for q in a:
    r: str
