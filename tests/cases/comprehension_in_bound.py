# versions: 3.12+
def function[T: [lambda: T for T in T]]():
    pass


type Alias[T: [lambda: T for T in T]] = 1


class Base[T: [T for T in ()]]:
    pass
