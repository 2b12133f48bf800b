"""Which backend a graph goes to, and the settings of torch that are not the defaults: what a bug may depend on.

Input: torch's frames while it reports a captured graph.  Output: plain data.  Settings that torch itself changes for a
compilation are among them; values that are no literals are left out.
"""

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any

from depyf.run.recorded.recorded_inputs import CompiledWith
from depyf.sources.live.pure_access import attribute, is_a, short_name

_DEPTH = 16
_MODULES = ("torch._dynamo.config", "torch._functorch.config", "torch._inductor.config")
_ELSEWHERE = frozenset(
    # where torch puts its files, what it prints, how it shares out work, what Dynamo sets while it compiles
    "fake_tensor_allow_unsafe_data_ptr_access debug_dir_root cache_dir log_file_name verbose compile_threads "
    "worker_start_method trace.debug_dir repro_level".split()
)


def compiled_with() -> CompiledWith:
    """The backend and settings of the graph that torch is reporting now."""
    name, options = _backend(_output_graph())
    settings: dict[str, Any] = {}
    for module in _MODULES:
        settings |= {f"{module}.{key}": value for key, value in _changed(sys.modules.get(module)).items()}
    return CompiledWith(name, options, settings)


def _output_graph() -> Any:
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEPTH):
        if frame is None:
            return None
        if frame.f_globals.get("__name__") == "torch._dynamo.output_graph" and "self" in frame.f_code.co_varnames:
            found = frame.f_locals.get("self")
            if attribute(found, "compiler_fn") is not None:
                return found
        frame = frame.f_back
    return None


def _backend(graph: Any) -> tuple[str, dict[str, Any]]:
    """A name that torch.compile takes, or ``module.function`` of a backend of the program; and its options."""
    function = attribute(graph, "compiler_fn")
    options: Any = {}
    for _ in range(8):
        kind = short_name(type(function))
        if kind == "_TorchCompileInductorWrapper":
            return "inductor", _literals(attribute(function, "config"))
        if kind == "_TorchCompileWrapper":
            options = attribute(function, "kwargs")
            options = options.get("options", {}) if is_a(options, dict) else {}
        inner = (
            attribute(function, "compiler_fn")
            or attribute(function, "backend")
            or attribute(function, "_torchdynamo_orig_backend")
        )
        if inner is None or kind == "function":
            break
        function = inner
    known: Any = attribute(sys.modules.get("torch._dynamo.backends.registry"), "_COMPILER_FNS", {})
    for name, registered in known.items() if is_a(known, dict) else ():
        if registered is function:
            return str(name), _literals(options)
    module, name = str(attribute(function, "__module__", "")), str(attribute(function, "__qualname__", ""))
    if (module, name) == ("torch._inductor.compile_fx", "compile_fx"):
        return "inductor", _literals(options)
    name = name or str(attribute(type(function), "__qualname__", ""))
    return f"{module}.{name}".strip("."), _literals(options)


def _changed(config: Any) -> dict[str, Any]:
    """The settings of one of torch's modules that are not as they are by default."""
    if config is None:
        return {}
    found = {}
    with contextlib.suppress(Exception):  # another torch
        for name, entry in config._config.items():
            if not config._is_default(name) and name not in _ELSEWHERE and not name.startswith("_"):
                value = getattr(config, name)
                if value != entry.default:
                    found[name] = value
    return _literals(found)


def _literals(values: Any) -> dict[str, Any]:
    if not is_a(values, dict):
        return {}
    kinds = (bool, int, float, str, type(None))
    return {
        name: list(value) if type(value) is tuple else value
        for name, value in sorted(values.items())
        if type(name) is str
        and (type(value) in kinds or (type(value) in (list, tuple) and all(type(item) in kinds for item in value)))
    }
