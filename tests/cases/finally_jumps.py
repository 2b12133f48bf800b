def break_through(items):
    for item in items:
        try:
            if item:
                break
            use(item)
        finally:
            clean()
    after()


def continue_through(items):
    for item in items:
        try:
            if item:
                continue
            use(item)
        finally:
            clean()


def return_in_finally(a):
    try:
        a()
    finally:
        return 1


def loop_in_finally(a, items):
    try:
        a()
    finally:
        for item in items:
            use(item)


def break_in_handler(items):
    while True:
        try:
            items()
        except ValueError:
            break
        use(items)
    after()


def continue_in_handler(items):
    for item in items:
        try:
            use(item)
        except ValueError:
            continue
        after(item)
