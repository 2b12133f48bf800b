"""Texts of resume functions as a wrong rewrite would give them: the rules of the walk must accept none."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.verify.whole import verify
from resume_cases import CASES, function


@pytest.mark.parametrize("name", CASES)
def test_the_right_text_is_proven_and_names_what_it_assumes(name: str) -> None:
    handed, promises, notes, parameters, body, text, _ = CASES[name]
    original = handed(function(parameters, *body))
    right = CodeUnit.from_code(function(parameters, *(text or body)))
    verdict = verify(CodeUnit.from_code(original), right, promises=promises)[0]
    assert verdict.proven and all(note in verdict.reason for note in notes), verdict
    assert not verify(CodeUnit.from_code(original), right)[0].proven


@pytest.mark.parametrize(
    ("name", "wrong"), [(name, text) for name, case in CASES.items() for text in case[-1]], ids=lambda part: str(part)
)
def test_a_wrong_text_is_not(name: str, wrong: tuple[str, ...]) -> None:
    handed, promises, _, parameters, body, _, _ = CASES[name]
    original = CodeUnit.from_code(handed(function(parameters, *body)))
    verdict = verify(original, CodeUnit.from_code(function(parameters, *wrong)), promises=promises)[0]
    assert not verdict.proven, verdict
