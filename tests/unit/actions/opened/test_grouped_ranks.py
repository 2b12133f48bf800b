"""Logs of many ranks: which differ, since which record, and who was late."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from depyf.actions.opened.grouped_ranks import MOST_SHOWN
from depyf.cli import main
from depyf.run.files.reading import DumpError
from depyf.run.rank_groups import RANKS, RankGroup, read_rank_groups
from depyf.run.store.loading import load_ranks
from depyf.views.compare.rank_group_lines import ranks_in_words
from depyf.views.compare.stages import without_device
from tools.torch.many_ranks import LATE, make
from trace_logs import TraceLog

FORWARD = """\
def forward(self, primals_1: "f32[4][1]cpu"):
    all_reduce: "f32[4][1]cpu" = torch.ops._c10d_functional.all_reduce.default(primals_1, 'sum', '0')
    wait_tensor: "f32[4][1]cpu" = torch.ops._c10d_functional.wait_tensor.default(all_reduce)
    return (wait_tensor,)
"""
RANKS_MADE = 24


@pytest.fixture
def planted(tmp_path: Path) -> tuple[Path, dict[str, int]]:
    log = TraceLog()
    for key in ("0/0", "0/1", "1/0"):
        log.compiled(key, "/p/train.py", int(key[2]) + 2, recompiled="0/0: n == 2" if key == "0/1" else "")
        log.add({"aot_forward_graph": {}}, FORWARD, key)
    log.write(tmp_path / "recorded" / "dedicated_log_torch_trace_rank_0_x.log")
    made = make(tmp_path / "recorded", tmp_path / "logs", RANKS_MADE)
    return tmp_path, {one.name: one.rank for one in made}


def group_of(groups: tuple[RankGroup, ...], rank: int) -> RankGroup:
    return next(group for group in groups if rank in group.ranks)


def test_what_was_planted_is_found(
    planted: tuple[Path, dict[str, int]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, ranks = planted
    monkeypatch.chdir(folder)
    assert main(["open", "logs", "-o", "dump"]) == 0
    found = read_rank_groups(Path("dump"))
    assert found is not None and found.count == RANKS_MADE
    usual = found.groups[0]
    assert usual.since is None and ranks["late"] in usual.ranks
    assert len(usual.ranks) == RANKS_MADE - 4 and len(found.groups) == 5
    since = {name: group_of(found.groups, rank).since for name, rank in ranks.items() if name != "late"}
    told = {name: (one.id, one.what) for name, one in since.items() if one is not None}
    assert told["guard"] == ("0/1", "guards") and told["more"] == ("1/1", "begin, more")
    assert told["collective"] == ("0/0", "Forward_graph") and told["cut"][1].endswith("which it lacks")
    for name, one in since.items():
        assert one is not None
        text = (folder / "logs" / one.log).read_text().split("\n")
        if one.line and name == "collective":
            assert "aot_forward_graph" in text[one.line - 1]
    assert [(wait.last, wait.seconds) for wait in found.waits] == [(ranks["late"], LATE)] * len(found.waits)
    assert found.waits and found.waits[0].own == pytest.approx(LATE)
    shown = load_ranks(Path("dump"))
    assert len(shown) == 5 <= MOST_SHOWN and all(run.ranks == RANKS_MADE for run in shown.values())
    capsys.readouterr()
    assert main(["merge", "logs"]) == 1
    said = capsys.readouterr()
    assert f"rank {ranks['collective']}: differs since 0/0, Forward_graph (line " in said.out
    assert f"rank {ranks['late']} ended last, others had waited up to 4.0 s" in said.out
    assert "logs: 5 ranks, each against rank_0" in said.out and "depyf-log-" not in said.out
    assert main(["merge", "--json", "logs"]) == 1
    assert json.loads(capsys.readouterr().out)["groups"]["count"] == RANKS_MADE


def test_all_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in range(MOST_SHOWN + 2):
        log = TraceLog()
        log.compiled("0/0", "/p/train.py")
        log.write(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log")
    assert main(["merge", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "All 10 ranks have the same graphs and guards, devices apart.\n"


def test_logs_of_several_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in range(3):
        log = TraceLog(day=f"110{rank + 1}")
        log.compiled("0/0", "/p/train.py")
        log.write(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log")
    assert main(["merge", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "The logs begin 48.0 hours apart: they are of several runs" in said and "rank 2 ended last" not in said


IDENTITIES = """\
| +- TYPE_MATCH: ___check_type_id(L['x'], {number}), type=<class 'torch.Tensor'>  # y = x * {rank}  # train.py:{rank} in f
| +- ID_MATCH: ___check_obj_id(G['dist'], {number})
Guard latency = {rank}.5 us
# graph id: {number}
"""


def test_what_differs_by_nature(tmp_path: Path) -> None:
    for rank in range(2):
        log = TraceLog()
        log.add({"dynamo_cpp_guards_str": {}}, IDENTITIES.format(rank=rank, number=100052912 + rank), "0/0")
        log.add({"dynamo_output_graph": {}}, f"x: f32[4]cuda:{rank}; get_raw_stream({rank}); rank_{rank}/a", "0/0")
        log.compiled("1/0", "/p/train.py")
        log.write(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log")
    assert main(["open", str(tmp_path), "-o", str(tmp_path / "dump")]) == 0
    found = read_rank_groups(tmp_path / "dump")
    assert found is not None and [group.ranks for group in found.groups] == [(0, 1)]


def test_a_dump_of_other_ranks_is_replaced(planted: tuple[Path, dict[str, int]]) -> None:
    folder, _ = planted
    for _ in range(2):
        assert main(["open", str(folder / "logs"), "-o", str(folder / "dump")]) == 0
    log = TraceLog()
    log.compiled("0/0", "/p/train.py")
    log.write(folder / "one.log")
    assert main(["open", str(folder / "one.log"), "-o", str(folder / "dump")]) == 0
    assert not (folder / "dump" / RANKS).exists() and list(load_ranks(folder / "dump")) == [0]


def test_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / RANKS).write_text('{"count": "many"}')
    with pytest.raises(DumpError, match="is damaged"):
        read_rank_groups(tmp_path)
    assert read_rank_groups(tmp_path / "elsewhere") is None


def test_ranks_in_words() -> None:
    assert ranks_in_words((3,)) == "rank 3"
    assert ranks_in_words((0, 1, 2, 4, 6, 7)) == "ranks 0-2, 4, 6-7"
    assert ranks_in_words(tuple(range(0, 40, 2))).endswith("22 and 8 more")


def test_streams_of_a_device() -> None:
    """Inductor names them after it."""
    first, second = (f"stream{n} = get_raw_stream({n})\nk.run(buf0, stream=stream{n})" for n in (0, 7))
    assert without_device(first) == without_device(second)
