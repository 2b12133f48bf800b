"""A warm start of ``caching_precompile``: entries that were loaded are seen, and called loaded."""

from __future__ import annotations

import json

import pytest
import torch
from commands import python

from depyf.run.made import Made
from depyf.run.store.loading import load

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not hasattr(torch._dynamo.config, "caching_precompile"), reason="a torch without precompile"),
]

PROGRAM = """
import json, sys
import torch
import depyf
torch._dynamo.config.caching_precompile = True
torch._dynamo.config.automatic_dynamic_shapes = False
def broken(x):
    y = x.sin() + 2
    torch._dynamo.graph_break()
    return y * 2
"""
COLD = """
from torch._dynamo.precompile_context import PrecompileContext
compiled = torch.compile(broken, backend="inductor")
for size in (3, 4):
    compiled(torch.ones(size))
PrecompileContext.save_to_dynamo_cache()
"""
WARM = """
import contextlib
inside = depyf.prepare_debug("dump") if sys.argv[1] == "dump" else contextlib.nullcontext()
with inside:
    compiled = torch.compile(broken, backend="inductor")
    result = compiled(torch.ones(4))
report = depyf.explain(compiled)
replica = depyf.replay(compiled)
answers = {
    "explain": str(report),
    "runs": depyf.why(compiled, torch.ones(4)).outcome,
    "again": depyf.why(compiled, torch.ones(7)).outcome,
    "refused": [r.compile_id for r in depyf.why(compiled, torch.ones(7)).refusals],
    "replayed": torch.equal(replica(torch.ones(4)), result) and not replica.disagreements,
    "compared": str(depyf.compare(compiled, torch.ones(4))),
    "served": torch.equal(compiled(torch.ones(3)), broken(torch.ones(3))),
    "made": sum(torch._dynamo.utils.counters["frames"].values()),
}
from depyf.sources.live.caches import loaded_entries
loaded_entries._KNOWN.clear()
loaded_entries._stored = lambda code: ("", ())  # as where the package is gone
answers["hidden"] = str(depyf.explain(compiled))
answers["hidden runs"] = depyf.why(compiled, torch.ones(4)).outcome
answers["hidden again"] = depyf.why(compiled, torch.ones(7)).outcome
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("warm")
    env = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    script = folder / "program.py"
    script.write_text(PROGRAM + COLD)
    cold = python("program.py", cwd=folder, env=env)
    assert cold.returncode == 0, cold.stderr
    script.write_text(PROGRAM + WARM)
    found = {}
    for how in ("dump", "plain"):
        ran = python("program.py", how, cwd=folder, env=env)
        assert ran.returncode == 0, ran.stderr
        found[how] = json.loads(ran.stdout.splitlines()[-1])
    return folder / "dump", found


def test_the_dump_calls_them_loaded(warm):
    folder, _ = warm
    run = load(folder)
    made = {(function.code.name, entry.key.text): entry for function, entry in run.entries}
    assert [text for _, text in made] == ["0/0", "0/1", "1/0", "1/1"]
    assert {entry.made for entry in made.values()} == {Made.CALL_LOADED}
    assert (run.compilations, run.loaded) == (0, 4)
    assert all(entry.guards and entry.transformed.source for entry in made.values())
    graphs = {(graph.key.text, graph.stage) for graph in run.graphs}
    assert {(key.text, "Forward_graph") for key in (entry.key for entry in made.values())} <= graphs
    index = (folder / "index.md").read_text()
    assert "0 compilations, 4 loaded" in index
    assert "0/0, 0/1: loaded, " in index
    assert "after the break at line " in index
    assert "ordinary Python\n" not in index.partition("## Functions")[2]


def test_the_files_that_pages_name_are_there(warm):
    folder, _ = warm
    (page,) = folder.glob("full_code_for_broken*.py")
    for key in ("0_0", "0_1", "1_0", "1_1"):
        assert f"__transformed_code_{key}_for_" in page.read_text()
        assert list(folder.glob(f"__transformed_code_{key}_for_*.py"))


@pytest.mark.parametrize("how", ["dump", "plain"])
def test_answers_are_of_what_was_loaded(warm, how):
    answers = warm[1][how]
    assert "loaded" in answers["explain"].splitlines()[0]
    assert "ordinary Python" not in answers["explain"]
    assert "(loaded, not compiled here) runs" in answers["runs"]
    assert answers["again"] == "no cache entry fits: torch compiles another one"
    assert len(answers["refused"]) == 2
    assert answers["replayed"]
    assert "DIFFERENT" not in answers["compared"]
    assert "2 graphs" in answers["compared"]


def test_an_entry_without_code_is_said_to_be_there(warm):
    answers = warm[1]["plain"]
    assert "torch has loaded 2 entries for it, and shows their guards, not their code" in answers["hidden"]
    assert answers["hidden runs"].startswith("an entry runs that torch has loaded")
    assert "torch compiles it" in answers["hidden again"]


@pytest.mark.parametrize("how", ["dump", "plain"])
def test_asking_leaves_them_as_they_are(warm, how):
    """The call after all answers is served by the same entries: nothing is compiled."""
    assert warm[1][how]["served"]
    assert warm[1][how]["made"] == 0
