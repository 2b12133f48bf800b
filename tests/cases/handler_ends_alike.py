# versions: 3.12+
# known ugly: 3.12+ a clause of except* would say return
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
