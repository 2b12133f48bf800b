def simple(items):
    for item in items:
        use(item)


def unpacking(items):
    for i, (a, *b) in enumerate(items):
        use(i, a, b)


def attribute(items, obj):
    for obj.field in items:
        use(obj)
    for obj[0] in items:
        use(obj)


def with_break(items):
    for item in items:
        if item:
            break
        use(item)
    done()


def with_continue(items):
    for item in items:
        if not item:
            continue
        use(item)
    return items


def nested(rows):
    for row in rows:
        for cell in row:
            if cell:
                break
            use(cell)
        finish(row)


def with_return(items):
    for item in items:
        if item:
            return item
