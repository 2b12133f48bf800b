"""What ``breakpoint()`` of the running interpreter does."""

from __future__ import annotations

import sys

STOPS_AT_ONCE = sys.version_info >= (3, 13)
"""pdb stops on the line of the call itself; before, on the next line that begins."""
