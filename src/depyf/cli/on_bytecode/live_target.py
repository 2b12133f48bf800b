"""``module:qualname``: a live function is shown with its default values, a live class with its methods, as the API
shows them."""

from __future__ import annotations

import inspect
import os
import sys
import types
from typing import Any

from depyf.cli.exit_status import ExitStatus
from depyf.cli.input_errors import InputError
from depyf.cli.on_bytecode.targets import Job, check_exists, code_of_object
from depyf.cli.outcome import Outcome
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import Decompiled, decompile_unit
from depyf.decompiler.emit.defaults import defaults_of
from depyf.decompiler.options import Options
from depyf.decompiler.verify.verdict import Status
from depyf.decompiling import decompile_class
from depyf.errors import DepyfError


def live_outcome(job: Job, python: str | None) -> Outcome | None:
    """The text of what the job names in a module; None for a file, and for what is no function or class."""
    module, colon, qualname = job.target.rpartition(":")
    if job.data is not None or not colon or os.path.isfile(job.target) or os.path.isfile(module):
        return None
    try:
        check_exists(job.target)
        code_of_object(module, qualname)
    except InputError as error:
        found = _found(module, qualname)
        if not isinstance(found, type):
            return Outcome(job.target, job.relative, job.order, ExitStatus.UNREADABLE, error=str(error))
    else:
        found = _found(module, qualname)
    version = CodeUnit.from_code(live_outcome.__code__).version
    try:
        result = _decompiled(found, Options(python=python))
    except DepyfError as error:
        return Outcome(job.target, job.relative, job.order, ExitStatus.FAILED, version, error=str(error))
    except Exception as error:
        message = f"internal error, please report it: {type(error).__name__}: {error}"
        return Outcome(job.target, job.relative, job.order, ExitStatus.FAILED, version, error=message)
    if result is None:
        return None
    status = ExitStatus.PROVEN if result.proven else ExitStatus.UNPROVEN
    if any(verdict.status is Status.FAILED for verdict in result.verdicts):
        status = ExitStatus.FAILED
    return Outcome(job.target, job.relative, job.order, status, version, result.shown, tuple(result.verdicts))


def _decompiled(found: Any, options: Options) -> Decompiled | None:
    if isinstance(found, type):
        return decompile_class(found, options)
    if isinstance(found, types.FunctionType):
        return decompile_unit(CodeUnit.from_code(found.__code__), options, defaults=defaults_of(found))
    return None


def _found(module: str, qualname: str) -> Any:
    """What ``code_of_object`` finds in a module that is imported, with the function in a property or wrapper; None
    without it."""
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        try:
            found = inspect.getattr_static(found, name) if isinstance(found, type) else getattr(found, name)
        except Exception:  # whatever a property raises
            return None
    for attribute in ("fget", "__func__", "__wrapped__"):
        if not hasattr(found, "__code__") and getattr(found, attribute, None) is not None:
            found = getattr(found, attribute)
    return found
