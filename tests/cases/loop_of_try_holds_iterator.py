def endless(f, z):
    while True:
        try:
            f.step()
        except ValueError:
            break
        for b in z:
            while True:
                f(b)
    f.close()


while True:
    try:
        step()
    except ValueError:
        break
    for item in items:
        while True:
            item()
