"""What a dump holds: records, files, pages, and how two of them compare."""
