"""The panels of lines in Chromium, on a dump of a real run: what lights up where a line is selected, diffs, the program's source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from depyf.views.report.report_page import write_report
from golden_dump import unpack


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chain")
    return write_report(unpack(folder / "dump"), folder / "report.html")


def lit(page: Any, which: str = "related") -> list[str]:
    return [text.strip() for text in page.locator(f"#panel-chain .line.mark-{which} .line-text").all_inner_texts()]


def show_all(page: Any) -> None:
    """All stages side by side."""
    stages = page.get_by_role("group", name="Stages").get_by_role("button")
    for number in range(stages.count()):
        if stages.nth(number).get_attribute("aria-pressed") == "false":
            stages.nth(number).click()


def titles(page: Any) -> list[str]:
    return [text.split("\n")[0] for text in page.locator("#panel-chain .pane-title").all_inner_texts()]


def test_two_stages_are_shown_at_first(visit: Any, page_file: Path) -> None:
    assert len(titles(visit(page_file, "#chain", width=1280))) == 2
    for stage, title in (("Backward_graph", "AOTAutograd"), ("kernel_0.cpp_fused_cos_mean_mul_sub_tanh_0", "Kernel")):
        page = visit(page_file, f"#0/0/{stage}/3", width=1280)
        page.locator("#panel-chain .mark-selected").first.wait_for()
        pressed = page.get_by_role("group", name="Stages").locator("[aria-pressed=true]").all_inner_texts()
        assert [text.split("\n")[0] for text in pressed] == ["Source", title], "the source, and the stage of the link"


def test_a_source_line_lights_its_relatives(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#chain", width=1600)
    show_all(page)
    page.locator("#panel-chain .line", has_text="d = torch.softmax(c, -1)").first.click()
    found = lit(page)
    assert any("torch.softmax" in line for line in found), "the captured graph"
    assert any(line.startswith("cpp_fused__softmax_mul_sigmoid_sum_2(") for line in found), "the wrapper"
    assert any(".exp()" in line for line in found) and not any("tanh()" in line for line in found), "the kernel"
    assert page.evaluate("location.hash") == "#0/0/program.py/23"
    trail = page.locator(".chain-trail").inner_text()
    assert "program.py:23" in trail and "amax" in trail and "cpp_fused__softmax" in trail
    page.keyboard.press("Escape")
    assert lit(page) == [] and page.locator("#panel-chain [class*=mark-hue-]").count() > 4, "the colours are back"


def test_a_kernel_line_leads_back(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#0/0/kernel_0.cpp_fused_cos_mean_mul_sub_tanh_0/3", width=1600)
    found = lit(page)
    assert any("return torch.tanh(y) @ w" in line for line in found) or any("cos()" in line for line in found)
    assert not any("softmax" in line for line in found)
    assert page.locator("#panel-chain .mark-selected").count() == 1


def test_a_backward_line_leads_to_the_forward_line(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#0/0/Backward_graph/1", width=1600)
    page.locator("#panel-chain .line", has_text="mm_5:").first.click()
    assert any("torch.tanh(y) @ w" in line for line in lit(page))


def test_a_pair_names_what_lies_between(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#0/0/program.py/23", width=1600)
    show_all(page)
    page.locator("#panel-chain .line", has_text="cpp_fused__softmax_mul_sigmoid_sum_2(").first.click(
        modifiers=["Shift"]
    )
    trail = page.locator(".chain-trail").inner_text()
    assert "and Wrapper (forward):" in trail and "exp" in trail and "tanh" not in trail


def test_columns_can_be_chosen(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#chain")
    before = page.locator("#panel-chain .pane").count()
    page.get_by_role("button", name="Bytecode").click()
    assert page.locator("#panel-chain .pane").count() == before + 1


def test_passes_show_what_changed(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#passes")
    page.get_by_role("link", name="AOTAutograd: backward").click()
    page.locator("#panel-passes .mark-removed").first.wait_for()
    assert "Joint_graph" in page.locator("#panel-passes .pane-title").first.inner_text()
    assert page.locator("#panel-passes [role=status]").inner_text().startswith("change 1 of ")
    page.get_by_role("button", name="Next change").click()
    assert page.locator("#panel-passes [role=status]").inner_text().startswith("change 2 of ")


def test_the_sides_of_a_pass_scroll_together(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#passes", height=500)
    page.get_by_role("link", name="AOTAutograd: backward").click()
    page.locator("#panel-passes .mark-removed").first.wait_for()

    def scrolled(side: int, to: float) -> list[float]:
        return page.evaluate(  # two frames: the scrolling, and what follows
            """async ([side, to]) => {
                const views = [...document.querySelectorAll('#panel-passes .code')];
                views[side].scrollTop = to;
                for (let frame = 0; frame < 4; frame += 1) await new Promise(requestAnimationFrame);
                return views.map((view) => view.scrollTop);
            }""",
            [side, to],
        )

    for side in (0, 1):
        assert max(scrolled(side, 0)) < 60
        assert min(scrolled(side, 1e9)) > 100


def test_source_leads_to_the_chain(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#source")
    assert page.locator("#panel-source .badge-kernels").count() >= 4
    page.locator("#panel-source .line", has_text="d = torch.softmax(c, -1)").locator(".line-text").click()
    page.locator("#panel-chain .mark-selected").wait_for()
    assert page.evaluate("location.hash") == "#0/0/program.py/23"
