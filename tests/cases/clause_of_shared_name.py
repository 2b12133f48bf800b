# versions: 3.8
def falls(read, log):
    try:
        try:
            if read():
                log()
        except ValueError:
            return log
        except OSError as error:
            pass
        return
    except KeyError as other:
        log()
    finally:
        log(lambda: error)


def leaves(first, second, third):
    with first:
        with second:
            try:
                third()
            except KeyError as error:
                third.clear()
                return
        return
    first()
    return lambda: error


def leaves_twice(read):
    try:
        read()
    except OSError as error:
        return
    finally:
        return
    def late():
        return error


def leaves_handler(read, log):
    try:
        return log
    except OSError as error:
        pass
    except:
        try:
            if log:
                pass
        except KeyError as error:
            return
        else:
            read(lambda: error)


def leaves_to_finally(read, log):
    try:
        log()
    except KeyError:
        try:
            read()
        except ValueError as error:
            return
    finally:
        log(lambda: error)
# output
def falls(read, log):
    try:
        try:
            if read():
                log()
        except ValueError:
            return log
        except OSError as error:
            pass
    except KeyError as other:
        log()
    finally:
        log(lambda: error)


def leaves(first, second, third):
    with first:
        with second:
            try:
                third()
            except KeyError as error:
                third.clear()
                return None
        return None
    first()
    return lambda: error


def leaves_twice(read):
    if 0: shared = lambda: error
    try:
        read()
    except OSError as error:
        return
    finally:
        return


def leaves_handler(read, log):
    try:
        return log
    except OSError as error:
        pass
    except:
        try:
            if log:
                pass
        except KeyError as error:
            return None
        read(lambda: error)


def leaves_to_finally(read, log):
    try:
        log()
    except KeyError:
        try:
            read()
        except ValueError as error:
            return
    finally:
        log(lambda: error)
