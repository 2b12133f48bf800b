def in_for():
    for a in b:
        try:
            c
        except d as e:
            continue


def falls():
    for a in b:
        try:
            c
        except d as e:
            f()


while True:
    try:
        g
    except h as g:
        continue
# output: 3.9-3.10
def in_for():
    for a in b:
        try:
            c
        except d as e:
            pass


def falls():
    for a in b:
        try:
            c
        except d as e:
            f()


while True:
    try:
        g
    except h as g:
        pass
