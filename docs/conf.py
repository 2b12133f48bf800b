"""Configuration of the site: ``make docs`` builds it with warnings as errors."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import depyf  # noqa: E402

project = "depyf"
author = "the depyf developers"
project_copyright = author
release = version = depyf.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "tools.docs.sphinx_depyf"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["outputs"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_mock_imports = [] if importlib.util.find_spec("torch") else ["torch"]  # signatures need no torch
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

copybutton_prompt_text = r"^(>>> |\.\.\. |\$ )"
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"depyf {release}"
html_baseurl = "https://depyf.readthedocs.io/en/latest/"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "source_repository": "https://github.com/thuml/depyf/",
    "source_branch": "main",
    "source_directory": "docs/",
    "light_css_variables": {"color-brand-primary": "#8a3ffc", "color-brand-content": "#6929c4"},
    "dark_css_variables": {"color-brand-primary": "#be95ff", "color-brand-content": "#be95ff"},
}
