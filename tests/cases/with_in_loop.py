def break_out(items):
    for item in items:
        with item as x:
            if x:
                break
            use(x)
    after()


def continue_out(items):
    for item in items:
        with item as x:
            if x:
                continue
            use(x)


def return_through_all(a, items):
    with a as x:
        for item in items:
            try:
                if item(x):
                    return item
            except ValueError:
                handle(item)
            finally:
                clean()
