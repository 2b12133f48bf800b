"""The names that the guards of a page call: ``sources/live/guards/check_functions.py`` has them."""

from depyf.sources.live.guards.check_functions import *  # noqa: F403
