"""Advice in the spelling of the library that calls ``torch.compile`` for the program.

Input: a cause, and the calls of ``torch.compile`` that the run saw.  Output: the same cause; where the program calls
``torch.compile`` nowhere itself, advice on how to call it says what reaches the call of the library.  Source:
``TorchDynamoPlugin`` in ``accelerate/utils/dataclasses.py``, which the Trainer of transformers uses, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import is_mark, use
from depyf.run.causes.cause import Cause
from depyf.run.program_calls.compile_calls import CompileCall

_BY = "accelerate"
_NAMES = {"transformers": "the Trainer of transformers"}


def in_spelling(cause: Cause, calls: Sequence[CompileCall]) -> Cause:
    """The cause with advice that the program can follow."""
    if not calls or any(not call.libraries or call.libraries[0] != _BY for call in calls):
        return cause
    asking = {call.libraries[-1] for call in calls}
    asked = asking.pop() if len(asking) == 1 else _BY
    library = _NAMES.get(asked, _BY)

    def spelled(uses: Iterable[AdviceUse]) -> tuple[AdviceUse, ...]:
        return tuple(use("launched-dynamic", library=library) if one.id == "compile-dynamic" else one for one in uses)

    ways = [replace(way, uses=spelled(way.uses)) for way in cause.ways]
    if asked in _NAMES:  # its loop makes the calls: no line of the program has the tensors in hand
        ways = [way for way in ways if not any(map(is_mark, way.uses))]
    return replace(cause, advice=spelled(cause.advice), ways=tuple(ways))
