# versions: 3.8+
async def fn8(log):
    log(a if b else {j: j async for (k,) in c})
