"""Where a size comes from, in the program's words.

Input: torch's source, ``L['x'].size()[2]``.  Output: the input (``x``), the dimension (``2``), and what the program
writes (``x.size(2)``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from depyf.run.advice.source_names import named, size_source

_INSIDE = re.compile(r"__[a-z]\w*")


@dataclass(frozen=True, slots=True)
class SizeName:
    """``dimension`` is "" for a number of the program's."""

    input: str
    dimension: str
    text: str

    @property
    def of_layout(self) -> bool:
        """Whether the size is a stride or the storage offset of a tensor."""
        return bool(self.dimension) and not self.dimension.isdigit()

    @property
    def order(self) -> tuple[str, int, str]:
        digits = self.dimension.rpartition(" ")[2]
        return self.input, int(digits) if digits.isdigit() else -1, self.dimension


def made_by_torch(source: str) -> bool:
    """Whether the value is in no variable of the program: ``__meta_utils_unknown_tensor38.size()[0]``."""
    return _INSIDE.match(source) is not None


def size_name(source: str) -> SizeName:
    """The program's name of the size or number at ``source``, in parts."""
    size = size_source(source)
    if size is None:
        return SizeName(named(source), "", named(source))
    name = named(size.tensor)
    if size.index is None:
        return SizeName(name, "storage offset", f"{name}.storage_offset()")
    dimension = str(size.index) if size.what == "size" else f"stride {size.index}"
    return SizeName(name, dimension, f"{name}.{size.what}({size.index})")
