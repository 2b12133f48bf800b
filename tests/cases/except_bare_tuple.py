# versions: 3.14+
def several(f):
    try:
        f()
    except A, B.c:
        return 1
    try:
        f()
    except* A, B:
        f()
# output
def several(f):
    try:
        f()
    except (A, B.c):
        return 1
    try:
        f()
    except* (A, B):
        f()
