class S:
    def send(self):
        super().x()

    if a or (not B and c):
        def f(self):
            raise NotImplementedError
# output
class S:
    def send(self):
        super().x()

    if a or not B and c:
        def f(self):
            raise NotImplementedError
