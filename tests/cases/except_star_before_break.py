# versions: 3.11+
while z:
    if f:
        continue
    try:
        log()
    except* KeyError:
        raise KeyError
    break
