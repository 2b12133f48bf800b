"""``depyf.explain.global_variables``: ``data`` of the published depyf, as serving engines read it.

``data`` is a mapping of what holds at the moment, not a record: it cannot be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class PublishedState(Mapping[str, Any]):
    """``dump_src_dir`` (str): the directory of the recording that is active, or of the last one; not there before the
    first.

    ``is_inside_prepare_debug`` (bool).  ``unpatched_load_by_key_path``: torch's function that loads generated code.
    """

    def __getitem__(self, key: str) -> Any:
        from depyf.contexts import current_recording

        directory, active = current_recording()
        if key == "is_inside_prepare_debug":
            return active
        if key == "dump_src_dir" and directory is not None:
            return directory
        if key == "unpatched_load_by_key_path":
            from depyf.sources.live.recording.loaded_code import loader

            return loader()
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        from depyf.contexts import current_recording

        known = ("dump_src_dir",) if current_recording()[0] is not None else ()
        return iter((*known, "is_inside_prepare_debug", "unpatched_load_by_key_path"))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<depyf.explain.global_variables.data: {', '.join(self)}>"


data = PublishedState()
