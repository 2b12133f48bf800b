"""The sections of ``index.md``; each is lines of Markdown, and a page by itself where it is long."""
