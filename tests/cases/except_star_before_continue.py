# versions: 3.12+
def again(a, b):
    for x in a:
        try:
            try:
                log(x)
            except* a:
                pass
            continue
        except* b:
            pass
    return 1


def left(a, x):
    while a:
        try:
            try:
                log()
            except* a as b:
                pass
            if x:
                break
            else:
                continue
        except* a:
            pass
    c()
