# known ugly: 3.14+ original STORE_NAME __annotate_func__ and recompiled STORE_NAME _Record__annotate___2: they do different thing
class Record:
    a: int
    b: str = "x"
    c: "Record"
    d: list[int] = []

    def method(self, x: int) -> "Record":
        y = x
        return y
