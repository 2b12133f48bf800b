"""The names that a page ``full_code_for_*`` imports: ``page_access.py`` has them."""

from depyf.sources.live.page_access import live_frame as live_frame
from depyf.sources.live.page_access import live_guard as live_guard
