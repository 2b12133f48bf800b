"""The smaller parts of the published surface: install, the custom dispatcher, dump_src, utils."""

from __future__ import annotations

import functools
import logging
import logging.handlers

import pytest
import torch

import depyf
from depyf.errors import DepyfError
from depyf.explain import dump_src
from depyf.optimization import TorchCompileWrapperWithCustomDispatcher
from depyf.utils import (
    collect_all_code_objects,
    decompile_ensure,
    get_code_owner,
    get_function_signature,
    safe_create_directory,
)

pytestmark = pytest.mark.torch


def f(x, n=2):
    return x * n + 1


def test_install_logs_source():
    handler = logging.handlers.BufferingHandler(1000)
    torch._logging.set_logs(bytecode=True)
    logger = logging.getLogger("torch._dynamo.convert_frame.__bytecode")
    logger.addHandler(handler)
    try:
        depyf.install()
        depyf.install()  # once is enough
        torch.compile(f, backend="eager")(torch.ones(2))
        depyf.uninstall()
        depyf.uninstall()
        found = [text for record in handler.buffer if "decompiled code of f " in (text := record.getMessage())]
        assert len(found) == 1
        assert "def f(x, n):" in found[0]
    finally:
        logger.removeHandler(handler)
        depyf.uninstall()
        torch._logging.set_logs()


def test_install_costs_nothing_without_the_log(monkeypatch):
    monkeypatch.setattr(
        "depyf.decompiler.driver.pipeline.decompile_code", lambda *args, **kwargs: pytest.fail("decompiled")
    )
    depyf.install()
    try:
        torch.compile(f, backend="eager")(torch.ones(2))
    finally:
        depyf.uninstall()


def test_custom_dispatcher():
    class Model(TorchCompileWrapperWithCustomDispatcher):
        def __init__(self):
            self.weight = torch.full((3,), 2.0)
            super().__init__(torch.compile(self.forward, backend="eager", dynamic=False))

        def forward(self, x, flag=None):
            return x * self.weight if flag else x + self.weight

        def __call__(self, x, flag=None):
            if len(self.compiled_codes) >= 2:
                with self.dispatch_to_code(0 if flag else 1):
                    return self.forward(x, flag)
            return self.compiled_callable(x, flag)

    model = Model()
    x = torch.arange(3.0)
    original = Model.forward.__code__
    try:
        for _ in range(3):
            assert torch.equal(model(x, True), x * 2)
            assert torch.equal(model(x, False), x + 2)
        assert len(model.compiled_codes) == 2
        assert Model.forward.__code__ is original
        with pytest.raises(ValueError), model.dispatch_to_code(1):
            raise ValueError
        assert Model.forward.__code__ is original
    finally:
        model._handle.remove()


def test_dump_src_after_the_fact():
    def broken(x):
        y = x + 1
        print("break")
        return y * 2

    compiled = torch.compile(broken, backend="eager")
    compiled(torch.ones(2))
    text = dump_src(compiled)
    compile(text, "full_code", "exec")
    assert "def broken(x):" in text
    assert "guards_0_0" in text
    assert "__resume_at_" in text
    assert "__compiled_fn_0_0(" in text
    assert dump_src(f).count("if guard_") == 0, "nothing compiled: only the original"
    with pytest.raises(DepyfError, match="has no Python bytecode"):
        dump_src(len)


def test_get_code_owner():
    class C:
        def method(self):
            return 1

        def __call__(self):
            return 2

    assert get_code_owner(f) is f
    assert get_code_owner(functools.partial(f, 1)).__code__ is f.__code__
    assert get_code_owner(C().method) is C.method
    assert get_code_owner(C()).__code__ is C.__call__.__code__
    assert get_code_owner(torch.nn.Linear(1, 1)).__code__ is torch.nn.Linear.forward.__code__
    assert get_code_owner(f.__code__) is f.__code__
    module = torch.nn.Linear(1, 1)
    for compiled in (torch.compile(module), torch.compile(module).forward):
        assert get_code_owner(compiled).__code__ is torch.nn.Linear.forward.__code__
    assert get_code_owner(torch.compile(f)) is f and get_code_owner(torch.compile(C().method)) is C.method
    assert "def forward(self, input):" in depyf.decompile(torch.compile(module))


def test_utils(tmp_path):
    assert get_function_signature(f.__code__) == "def f(x, n):\n"
    assert get_function_signature((lambda *a, b, **c: 0).__code__, "g") == "def g(*a, b, **c):\n"
    assert "def f(x, n):" in decompile_ensure(f)
    assert "def g(x, n):" in decompile_ensure(f, overwite_fn_name="g")

    def outer():
        def inner():
            return lambda: 1

        return inner

    assert [code.co_name for code in collect_all_code_objects(outer.__code__)] == ["outer", "inner", "<lambda>"]
    safe_create_directory(tmp_path / "a" / "b")
    safe_create_directory(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(DepyfError):
        safe_create_directory(tmp_path / "file" / "x")
