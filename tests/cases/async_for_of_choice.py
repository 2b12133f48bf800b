async def choice(a, b, log):
    async for x in a or b:
        log(x)


async def choice_in_handler(a, b, log):
    try:
        async for x in a if b else log:
            if x:
                break
    except ValueError:
        async for x in a or b:
            log(x)
