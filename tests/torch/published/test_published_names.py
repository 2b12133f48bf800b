"""Names of the published depyf that serving engines import, used as vLLM uses them."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import depyf
import depyf.explain.enable_debugging as enable_debugging
from depyf.errors import DepyfError
from depyf.explain.global_variables import data
from depyf.explain.utils import get_current_compiled_fn_name, write_code_to_file_template

pytestmark = pytest.mark.torch


def code_cache():
    import torch._inductor.codecache as codecache

    return codecache.PyCodeCache


def takes_all_of(hook, replaced):
    """vLLM's question: may ``hook`` be called with everything that torch passes to the function it would replace?"""
    accepted = inspect.signature(hook).parameters.values()
    named = {parameter.name for parameter in accepted}
    any_keyword = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted)
    return any_keyword or named >= set(inspect.signature(replaced).parameters)


def test_the_hook_needs_no_patch():
    hook = enable_debugging.patched_load_by_key_path
    assert takes_all_of(hook, code_cache().load_by_key_path)
    kinds = [parameter.kind for parameter in inspect.signature(hook).parameters.values()]
    assert kinds == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]
    assert enable_debugging.prepare_debug is depyf.prepare_debug and enable_debugging.debug is depyf.debug


@pytest.mark.parametrize(
    "hook", [lambda: code_cache().load_by_key_path, lambda: enable_debugging.patched_load_by_key_path]
)
def test_generated_code_that_is_loaded_by_hand_is_dumped(hook, tmp_path):
    """Code for autotuning comes through ``PyCodeCache`` and not through an event."""
    keywords = {"set_sys_modules": False} if "set_sys_modules" in inspect.signature(hook()).parameters else {}
    load = code_cache().load_by_key_path
    with depyf.prepare_debug(str(tmp_path)):
        key, path = code_cache().write(f"value = {os.getpid()}, {tmp_path.name!r}\n")
        module = hook()(key, path, **keywords)
        assert code_cache().load_by_key_path == load, "torch's function is left alone"
    sys.modules.pop(module.__name__, None)
    assert module.value == (os.getpid(), tmp_path.name)
    (dumped,) = tmp_path.rglob("*.kernel_*.py")
    assert dumped.read_text() == Path(path).read_text()


def test_wrappers_are_not_dumped_twice(tmp_path):
    torch._dynamo.reset()
    for name in ("cold", "warm"):
        torch._dynamo.reset()
        with depyf.prepare_debug(tmp_path / name), torch.no_grad():
            torch.compile(lambda x: (x * 2).sin() + 5, backend="inductor")(torch.ones(7))
        assert [path.name for path in (tmp_path / name).glob("*.kernel_?.py")] == ["__compiled_fn_0_0.kernel_0.py"]


def test_a_hook_of_the_engine(tmp_path):
    """What vLLM puts in the place of a hook that takes too little: all it reads is there, inside the context."""
    names = []

    def load(key, path, linemap=None, attrs=None, **more):
        text = Path(path).read_text()
        names.append(get_current_compiled_fn_name())
        copy = write_code_to_file_template(text, os.path.join(data["dump_src_dir"], names[-1] + ".copy_%s.py"))
        return data["unpatched_load_by_key_path"](key, copy, linemap, attrs, **more)

    def backend(graph, examples):
        key, path = code_cache().write("answer = 42\n")
        modules.append(load(key, path))
        return graph.forward

    modules = []
    torch._dynamo.reset()
    assert not data["is_inside_prepare_debug"]
    with depyf.prepare_debug(str(tmp_path)):
        assert data["is_inside_prepare_debug"] and data["dump_src_dir"] == str(tmp_path)
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
        load(*code_cache().write("answer = 43\n"))
    assert not data["is_inside_prepare_debug"] and data["dump_src_dir"] == str(tmp_path)
    assert names == ["__compiled_fn_0_0", "__compiled_fn_unknown"]
    assert modules[0].answer == 42 and modules[0].__file__ == str(tmp_path / "__compiled_fn_0_0.copy_0.py")
    assert dict(data)["unpatched_load_by_key_path"] == code_cache().load_by_key_path
    with pytest.raises(KeyError):
        data["something else"]


def test_numbers_of_files(tmp_path):
    template = str(tmp_path / "100%_of_it.%s.py")
    written = [write_code_to_file_template(text, template) for text in ("a\n", "b\r\n", "a\n", "b\r\n", "c")]
    assert [path.rpartition("it.")[2] for path in written] == ["0.py", "1.py", "0.py", "1.py", "2.py"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"100%_of_it.{n}.py" for n in range(3)]
    (tmp_path / "x.0.py").symlink_to(tmp_path / "elsewhere.py")
    assert write_code_to_file_template("a", str(tmp_path / "x.%s.py")).endswith("x.1.py")
    assert not (tmp_path / "elsewhere.py").exists()
    with pytest.raises(DepyfError, match="no %s"):
        write_code_to_file_template("a", str(tmp_path / "x.py"))
    with pytest.raises(OSError):
        write_code_to_file_template("a", str(tmp_path / "nowhere" / "x.%s.py"))


def test_numbers_of_files_by_several_processes(tmp_path):
    program = (
        "import sys; from depyf.explain.utils import write_code_to_file_template as w\n"
        "for n in range(40): w(f'{n % 20}\\n' * 500, sys.argv[1])"
    )
    template = str(tmp_path / "f%s")
    running = [subprocess.Popen([sys.executable, "-c", program, template]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    texts = [path.read_text() for path in tmp_path.iterdir()]
    assert sorted(texts) == sorted(f"{n}\n" * 500 for n in range(20))


def test_submodules_leave_the_package_callable():
    for name in ("utils", "global_variables", "enable_debugging"):
        assert importlib.import_module(f"depyf.explain.{name}") is getattr(depyf.explain, name)
    assert depyf.explain(lambda x: x).entries == () and callable(depyf.explain.dump_src)


def test_names_import_without_torch():
    program = (
        "import depyf.explain.utils, depyf.explain.global_variables, depyf.explain.enable_debugging as e, inspect, sys\n"
        "inspect.signature(e.patched_load_by_key_path); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
