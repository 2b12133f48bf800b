"""``depyf doctor --fix``: the patch on standard output, what was measured on standard error."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import tempfile
from pathlib import Path

from depyf.actions.doctor.doctor_report import causes_lines, document, headline
from depyf.actions.doctor.trial import DoctorProgram, why_no_program
from depyf.cli.exit_status import ExitStatus
from depyf.cli.found_formats import JSON, TEXT
from depyf.cli.from_dumps.log_argument import is_log
from depyf.cli.input_errors import InputError
from depyf.cli.output import complain, tell, tell_json, write_source
from depyf.cli.programs.ending import ended_as_interrupted
from depyf.errors import DepyfError
from depyf.views.pages.sections.fix_first import to_fix


def run_fix(program: DoctorProgram, options: argparse.Namespace, form: str) -> int:
    """Run ``depyf doctor --fix``.  Exit status 0: nothing is left to fix; 1: something is.  InputError for a target
    that is no script, DepyfError without LibCST."""
    if options.tries or options.check or options.check_every or options.out is not None or form not in (TEXT, JSON):
        complain("--fix goes with --most, --timeout, --write and --format json")
        return ExitStatus.USAGE
    missing = "" if program.module else why_no_program(program.target)
    if missing and not Path(program.target).exists():
        raise InputError(missing)
    if program.module or is_log(Path(program.target)) or not Path(program.target).is_file():
        raise InputError(f"--fix is for a script, and {program.target} is none")
    if importlib.util.find_spec("libcst") is None:
        raise DepyfError("--fix needs LibCST: pip install 'depyf[fix]'")
    from depyf.actions.fixing.fix_program import fix_program, write
    from depyf.actions.fixing.fix_report import fix_document, fix_lines

    work = Path(tempfile.mkdtemp(prefix="depyf-fix-"))
    try:
        with ended_as_interrupted():
            fixes = fix_program(
                program,
                work,
                most=options.most,
                timeout=options.timeout,
                tell=lambda text: tell(f"depyf: {text}", error=True),
            )
    finally:
        shutil.rmtree(work, ignore_errors=True)
    written = write(fixes) if options.write and fixes.after else []
    if form == JSON:
        page = {**document(program.target, fixes.base, None, None), "fix": {**fix_document(fixes), "written": written}}
        tell_json(page)
    else:
        write_source(fixes.diff)
        tell("", headline(program.target, fixes.base), "", *causes_lines(fixes.base), "", *fix_lines(fixes), error=True)
        if written:
            tell(f"Written: {', '.join(written)}", error=True)
        elif fixes.after:
            tell("Nothing is written without --write.", error=True)
    if fixes.last.status or fixes.last.problem:
        return ExitStatus.FAILED
    return ExitStatus.UNPROVEN if to_fix(fixes.last.causes) or fixes.last.observations else ExitStatus.PROVEN
