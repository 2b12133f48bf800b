async def in_finally(log):
    try:
        async for a in log:
            break
        try:
            b
        except ValueError:
            pass
    finally:
        y
    log(a)
