"""What a live entry has besides its own guards: those of the rests of the function, and hooks that none looks at.

Input: a live cache entry, the frame of a compiled function with its first argument, or the stack of the thread while
torch reports guards.  Output: guards as Python, ``UnguardedValue`` records, and what a function reads.  Nothing of the
program runs.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from depyf.run.causes.folding import counted
from depyf.run.guards.unguarded_value import FunctionReads, UnguardedValue, WhyUnguarded
from depyf.sources.live.ahead.filtered_guards import building_guards
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.guards.guard_tree import live_guards
from depyf.sources.live.pure_access import attribute, in_classes, is_a, own_attributes
from depyf.sources.live.resume import origin, resume_targets
from depyf.sources.live.unguarded.called_frames import CalledFrame
from depyf.sources.live.unguarded.unguarded_reads import SourceTrees, place_of, reads_of

_SETTING = "torch._dynamo.config.skip_nnmodule_hook_guards"
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_MOST = 2000
"""How many modules are looked at."""


def reported_reads(trees: SourceTrees) -> FunctionReads | None:
    """The reads of the function whose guards torch is reporting, with the values of the call.  None for a resume
    function: its lines are read with the whole function."""
    known = building_guards()
    code, graph = known.get("f_code"), known.get("output_graph")
    variables, names = attribute(graph, "local_scope"), attribute(graph, "global_scope")
    if type(code) is not types.CodeType or not is_a(variables, dict) or type(names) is not dict or origin(code):
        return None
    frame = CalledFrame(code, names, "", dict(variables))
    return FunctionReads(reads_of(frame, trees), tuple(unguarded_hooks(frame)))


def guards_of_rests(entry: LiveEntry) -> Iterator[str]:
    """The guards of the resume functions that the entry leads to."""
    met: set[int] = set()
    queue = [code for _, code in resume_targets(entry)]
    while queue:
        code = queue.pop()
        if id(code) in met:
            continue
        met.add(id(code))
        for rest in cache_entries(code):
            yield from (guard.record.expression for guard in live_guards(rest))
            queue += [inner for _, inner in resume_targets(rest)]


def unguarded_hooks(frame: CalledFrame) -> Iterable[UnguardedValue]:
    """One record for the hooks of all modules reachable from the parameters; () where torch guards hooks."""
    config: Any = sys.modules.get("torch._dynamo.config")
    if not getattr(config, "skip_nnmodule_hook_guards", False):
        return ()
    given = frame.code.co_varnames[: frame.code.co_argcount]
    modules = list(_modules([(name, frame.variables[name]) for name in given if name in frame.variables]))
    if not modules:
        return ()
    more = f" and {counted(len(modules) - 1, 'more module')}" if len(modules) > 1 else ""
    name = f"the hooks of {modules[0]}{more}"
    return (UnguardedValue(name, place_of(frame.code, 1), WhyUnguarded.SETTING, f"{_SETTING} is True"),)


def _modules(queue: list[tuple[str, Any]]) -> Iterator[str]:
    met: set[int] = set()
    while queue and len(met) < _MOST:
        path, value = queue.pop(0)
        own = own_attributes(value)
        if id(value) in met or not in_classes(type(value), "Module") or own is None:
            continue
        met.add(id(value))
        if any(name in own for name in _HOOKS):
            yield path
        inner = own.get("_modules")
        if type(inner) is dict:
            queue += [(f"{path}.{name}", module) for name, module in dict.items(inner) if type(name) is str]
