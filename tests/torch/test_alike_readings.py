"""A reading that was found for another text is the one that this text would have got."""

import pytest

pytest.importorskip("torch")

from depyf.dynamo import alike_readings
from depyf.dynamo.alike_readings import AlikeReadings
from depyf.dynamo.reading import readable_function

pytestmark = pytest.mark.torch


def text(number: int, line: int, value: str = "x") -> str:
    return f"""\
def __transformed_code_{number}_0_for_f(x, items):
    __temp_1 = [[{value}, x]]  # prog.py:{line}
    __temp_2 = __temp_1[-1]; del __temp_1[-1]
    graph_out_0 = __compiled_fn_{number}_0(x, items)  # prog.py:{line + 3}, torch's bookkeeping
    y = graph_out_0[0]
    del graph_out_0  # prog.py:{line - 2}
    return __resume_at_3{number}_4(y, __temp_2, "__compiled_fn_{number}_0")  # prog.py:{line + 5}
"""


def test_alike_texts_are_read_once(monkeypatch):
    asked = []

    def counted(source, name):
        asked.append(name)
        return readable_function(source, name)

    monkeypatch.setattr(alike_readings, "readable_function", counted)
    readings = AlikeReadings()
    for number, line in ((1, 10), (2, 50), (7, 3), (12, 10), (13, 400), (13, 400)):
        source, name = text(number, line), f"__transformed_code_{number}_0_for_f"
        expected = readable_function(source, name)
        assert expected is not None and f"prog.py:{line + 5}" in expected and f"__resume_at_3{number}_4" in expected
        assert readings.of(source, name) == expected
    assert asked == ["__transformed_code_1_0_for_f", "__transformed_code_12_0_for_f"]  # names as long as each other


def test_other_texts_are_read_themselves():
    readings = AlikeReadings()
    one, other = text(1, 10), text(2, 10, value="items")
    assert readings.of(one, "__transformed_code_1_0_for_f") != readings.of(other, "__transformed_code_2_0_for_f")
    assert readings.of(other, "__transformed_code_2_0_for_f") == readable_function(
        other, "__transformed_code_2_0_for_f"
    )
    # the same names in other places
    swapped = text(1, 10).replace("graph_out_0 = __compiled_fn_1_0(", "graph_out_0 = __compiled_fn_1_1(")
    assert readings.of(swapped, "__transformed_code_1_0_for_f") == readable_function(
        swapped, "__transformed_code_1_0_for_f"
    )


def test_what_is_not_understood_stays_so():
    readings = AlikeReadings()
    for number in (1, 2):
        source = f"def __transformed_code_{number}_0_for_f(x):\n    while x:\n        pass\n"
        assert readings.of(source, f"__transformed_code_{number}_0_for_f") is None
