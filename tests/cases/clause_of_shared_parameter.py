# versions: 3.8
def of_parameter(y, log):
    try:
        if y:
            try:
                log(x)
            except KeyError as y:
                log()
            return
    except ValueError:
        pass
    log(lambda: y)
