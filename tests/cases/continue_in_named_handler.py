# known ugly: 3.8 <module>: FAILED original STORE_NAME g and recompiled STORE_NAME g: they handle different exceptions at that point -- the clause is left first and its name unbound then; plain lifting knows no `continue` or `return` that is written out, and at the end of the clause the name is unbound first
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
