class Base:
    async def wait(self):
        ...

    def stop(self):
        ...

    async def run(self):
        pass
# output: 3.8-3.10
class Base:
    async def wait(self):
        pass

    def stop(self):
        pass

    async def run(self):
        pass
