"""A compiled function as a Python package that runs without torch.compile (``depyf export``)."""

from depyf.actions.export.dumped_function import ExportError as ExportError
from depyf.actions.export.package_folder import Package as Package
from depyf.actions.export.package_folder import export_package as export_package
