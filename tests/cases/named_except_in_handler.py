# versions: 3.8
while c:
    try:
        g
    except h:
        try:
            c
        except h as e:
            continue
while x:
    try:
        a
    except h:
        pass
    except:
        try:
            b
        except OSError as e:
            pass
        break
    b
