"""``make docs``: links inside the site that lead nowhere are found."""

from __future__ import annotations

from pathlib import Path

from docs import broken_links


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="sub/page.html#there">good</a> <a href="sub/page.html#gone">bad</a> <a href="sub/">bad</a>'
        '<img src="none.png"> <a href="https://example.org/x">outside</a> <a href="#me" id="me">good</a>'
    )
    (tmp_path / "sub" / "page.html").write_text('<h1 id="there"></h1><a href="../index.html">good</a>')
    assert broken_links(tmp_path) == [
        "index.html: sub/page.html#gone",
        "index.html: sub/",
        "index.html: none.png",
    ]
