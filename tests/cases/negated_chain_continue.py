def kept(random):
    while True:
        u1 = random()
        if not 1e-07 < u1 < 0.9999999:
            continue
        u2 = 1.0 - random()
        if u2:
            break
    return u2
