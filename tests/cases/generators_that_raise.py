def raises(a):
    raise NotImplementedError
    yield


async def raises_late(a):
    if a:
        return
    raise NotImplementedError(a)
    yield
