async def run_list(self, tgt, source):
    with self.assertRaises(StopAsyncIteration) as cm:
        return [0 async for tgt[0] in source()]
    return "end"


def run_list3(self, tgt):
    return [0 for tgt[0] in source()]


def run_list4(self, tgt):
    return [0 for tgt.x[4] in source()]


def run_list5(self, tgt):
    x = {0: [1 for tgt.x in y for tgt.y in tgt.x if a] for tgt.x[4] in source()}
    return (0 for tgt.x[4] in source())
