# versions: 3.11+
"""``...`` as the body of a function or class is as wide as itself, and ``pass`` is not."""


class Readable(Protocol):
    """What can be read."""

    def read(self) -> int:
        ...

    def close(self) -> None:
        """Close it."""
        ...

    def reset(self):
        pass


class Closed(Exception):
    ...


class Open(Exception):
    pass


@overload
def convert(x: int) -> int:
    ...
