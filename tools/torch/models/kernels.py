"""The C++ kernels of one Inductor graph in one run of g++, instead of one run for each.

Half a second of g++ goes into the headers of a kernel, and a small kernel costs little beside.  What Inductor generates stays as it
is, ``async_compile.cpp_pybinding`` and ``async_compile.wait`` of its wrapper are served from one library.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_MODULE = "static PyMethodDef py_methods[]"
_FUNCTION = "static PyObject* {entry_func}_py"


class Kernel:
    """Stands for a kernel until its library is there."""

    def __init__(self, argtypes: Sequence[str], source: str) -> None:
        self.argtypes, self.source = argtypes, source


def together() -> None:
    """From here on in this process."""
    from torch._inductor.async_compile import AsyncCompile
    from torch._inductor.codecache import CppPythonBindingsCodeCache as Cache

    known = _FUNCTION in Cache.suffix_template and _MODULE in Cache.suffix_template
    if getattr(AsyncCompile.wait, "together", False) or not known:
        return  # another torch: one by one
    wait = AsyncCompile.wait

    def later(_: Any, argtypes: Sequence[str], source: str) -> Kernel:
        return Kernel(argtypes, source)

    def compiled(self: Any, scope: dict[str, Any]) -> None:
        kernels = {name: value for name, value in scope.items() if isinstance(value, Kernel)}
        if kernels:
            library = Cache.load_async(text(list(kernels.values()), Cache.suffix_template))()
            scope.update({name: getattr(library, f"kernel_{at}") for at, name in enumerate(kernels)})
        wait(self, scope)

    compiled.together = True  # type: ignore[attr-defined]
    AsyncCompile.cpp_pybinding = later
    AsyncCompile.wait = compiled


def text(kernels: Sequence[Kernel], template: str) -> str:
    """One source with every kernel, and one Python module (torch's ``template``) with a function for each."""
    head, rest = template.split(_FUNCTION)
    function, module = (_FUNCTION + rest).split(_MODULE)
    entry = re.compile(r'\{\{"\{entry_func\}", .*?\}\},')
    found = [kernel_named(kernel.source, at) for at, kernel in enumerate(kernels)]
    found.append(head.format(entry_func="kernel", extra_parse_arg=""))
    for at, kernel in enumerate(kernels):
        arguments = (f"parse_arg<{kind.replace('const ', '')}>(args, {n})" for n, kind in enumerate(kernel.argtypes))
        call = f"kernel_{at}({', '.join(arguments)}); Py_RETURN_NONE;"
        found.append(function.format(entry_func=f"kernel_{at}", arg_len=len(kernel.argtypes), call_entry_func=call))
    methods = "".join(f'{{{{"kernel_{at}", kernel_{at}_py, METH_VARARGS, ""}}}},' for at in range(len(kernels)))
    found.append(_MODULE + entry.sub(lambda _: methods, module, count=1).format(entry_func="kernel"))
    return "\n".join(found)


def kernel_named(source: str, at: int) -> str:
    return re.sub(r"\bkernel\(", f"kernel_{at}(", source, count=1)
