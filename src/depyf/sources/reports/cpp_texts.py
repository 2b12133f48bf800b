"""The C++ that AOTInductor compiles, as the Python module in which Inductor's ``cpp_wrapper`` has such C++.

Input: what torch reports.  Output: a module that assigns the C++ to ``cpp_wrapper_src``, from which the pages take
calls and kernels apart; every other text as it is.
"""

from __future__ import annotations

from depyf.decompiler.emit.comments import comment

_CPP = {
    "inductor_aot_wrapper_code": "The C++ that AOTInductor compiled: what calls the kernels.",
    "inductor_aot_kernel_code": "The C++ that AOTInductor compiled: the kernels.",
}


def as_python(event: str, text: str) -> str:
    """The text of the event as Python: C++ becomes a module that assigns it to ``cpp_wrapper_src``."""
    if event not in _CPP:
        return text
    raw = f"r'''\n{text}'''" if "'''" not in text and not text.endswith(("\\", "'")) else repr(text)
    return f"{comment(_CPP[event])}\ncpp_wrapper_src = {raw}\n"
