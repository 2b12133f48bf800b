# versions: 3.12+
# known ugly: 3.12+ settle: FAILED does not compile: SyntaxError: 'break', 'continue' and 'return' cannot appear in an except* block -- plain lifting knows no other way out of the clause
def settle(ready, wait, first, second, cancel):
    if ready:
        try:
            first()
        except ValueError:
            while wait:
                pass
    else:
        try:
            second()
        except* KeyError:
            cancel(second)
            if ready.state or wait:
                cancel(first)
