# The skeleton of ``__init__.py`` of a package: see ``fill.py``.
"""``FUNCTION`` as torch.compile made it; README.md says more.  (MADE_BY)"""

from typing import TYPE_CHECKING

from . import MODULES
from .functions import ROOT

if TYPE_CHECKING:
    FUNCTION = MADE_BY = MODULES = ROOT = NAMES = LOADS = MAKE = ""

__all__ = NAMES


if LOADS:

    def load(state_dict):
        """The model with these parameters and buffers; its call runs the compiled code.

        KeyError where one that the compiled code reads is missing; others are not needed.
        """
        made = model.MAKE()
        missing = made.load_state_dict(state_dict, strict=False).missing_keys
        if missing:
            raise KeyError(f"the state_dict lacks {', '.join(missing)}")
        return made
