"""``depyf.explain(compiled_fn)``: a report of what torch has compiled; also the module that holds ``dump_src``.

The published depyf has ``depyf.explain.dump_src``, so ``depyf.explain`` stays a package; it can be called as well.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

from depyf.sources.live.require import require_torch

if TYPE_CHECKING:
    from depyf.actions.explaining.explanation import Report
    from depyf.actions.explaining.one_graph_report import OneGraphReport

__all__ = ["dump_src", "explain"]


def explain(fn: Any) -> Report | OneGraphReport:
    """What torch has compiled for ``fn`` (a compiled function, method or module) so far: a report.

    Cache entries with their guards, graphs, graph breaks, recompilations, skipped frames, as far as torch still knows;
    nothing had to be switched on before.  ``print`` it, show it in a notebook, or take ``.to_json()``.  DepyfError
    where ``fn`` has no bytecode.  Of an artefact of ``torch.compiler.precompile`` with one graph: what its driver
    wants of a call.
    """
    require_torch()
    from depyf.actions.explaining.explanation import explain as make
    from depyf.actions.explaining.one_graph_report import OneGraphReport
    from depyf.sources.live.ahead.one_graph import one_graph_of

    graph = one_graph_of(fn)
    if graph is not None:
        return OneGraphReport(graph)
    return make(fn)


def dump_src(fn: Any) -> str:
    """The ``full_code_for_*`` page of ``fn`` as torch's cache holds it now, also if it was compiled without depyf.

    ``fn`` is a compiled or plain function, method or module.  DepyfError where it has no bytecode.
    """
    require_torch()
    from depyf.actions.asking.cached_records import cached_source

    return cached_source(fn)


class _CallablePackage(types.ModuleType):
    """A module that is called like the function of its name."""

    def __call__(self, fn: Any) -> Report | OneGraphReport:
        return explain(fn)


sys.modules[__name__].__class__ = _CallablePackage
