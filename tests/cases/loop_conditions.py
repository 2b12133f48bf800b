def mixed(a, b, c):
    while a:
        if b:
            if c:
                continue
            one()
        elif c:
            break
        else:
            two()
        three()
    four()


def last_statement_if(items):
    for item in items:
        if item:
            one()
        else:
            two()


def nested_return(rows, a):
    for row in rows:
        while row:
            if a:
                return row
            row = step(row)
        use(row)
