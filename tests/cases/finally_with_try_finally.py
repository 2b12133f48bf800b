def g(loop):
    try:
        run(loop)
    finally:
        try:
            for task in pending:
                task.cancel()
            complete(loop)
        except Exception:
            pass
        finally:
            loop.close()


def h(loop):
    try:
        run(loop)
    finally:
        try:
            complete(loop)
        except Exception:
            fail()
        finally:
            loop.close()
    after()


def k(loop):
    for x in loop:
        try:
            run(loop)
        finally:
            try:
                complete(loop)
            finally:
                loop.close()
