@first
@second.attr
@third(1, key=2)
def decorated(a):
    return a


@register
class Decorated:
    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, value):
        self._value = value

    @staticmethod
    def make(a=lambda x: x):
        return a
