# versions: 3.12+
def retry(z, w):
    while True:
        if z:
            break
        if w:
            try:
                log(1)
            except* ValueError:
                pass
            except* KeyError:
                c.n = log()
            continue
        break
    raise h.Error
