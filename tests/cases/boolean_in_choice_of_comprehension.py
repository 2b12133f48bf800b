# known ugly: 3.14+ in_loop: FAILED the statement IteratorStart is left in an expression -- a comprehension that was inlined, with a test of several paths: plain lifting has no statement for the loop that it is
def in_loop(a, b, c, d):
    for x in (a if b else c or d) or ():
        y = [(x if c else d or b) and x for c in x]
        z = lambda: (a if b else c and d) or x
        call(y, z, ((b if x else c or d) and c for d in x))
