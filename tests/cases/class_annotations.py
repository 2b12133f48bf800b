class Record:
    a: int
    b: str = "x"
    c: "Record"
    d: list[int] = []

    def method(self, x: int) -> "Record":
        y = x
        return y
