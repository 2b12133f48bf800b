# versions: 3.11+
async def in_handler(a):
    try:
        with f:
            pass
    except OSError:
        if a:
            pass
        else:
            async with a:
                return
        try:
            with g:
                pass
        except* a:
            pass
    else:
        g
    async with x:
        pass
