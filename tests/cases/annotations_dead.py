class Dead:
    if False:
        y: int


class Text:
    def method(self):
        x.attr: int = 0
        z: int = 1
        return z


if False:
    y: int
# output: 3.8-3.13
if False:
    (_): None


class Dead:
    if False:
        (_): None


class Text:
    def method(self):
        x.attr = 0
        z = 1
        return z
# output: 3.14+
class Dead:
    if False:
        y: int


class Text:
    def method(self):
        x.attr = 0
        z = 1
        return z


if False:
    y: int
