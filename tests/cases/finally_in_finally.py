def run(loop, main):
    try:
        events(loop)
        if debug is not None:
            loop.set_debug(debug)
        return loop.run(main)
    finally:
        try:
            cancel(loop)
            loop.shut()
        finally:
            events(None)
            loop.close()
