"""A compiled function as a Python package that runs without torch.compile (``depyf export``).

Input: the folder of a dump.  Output: the folder of a package.  No torch; nothing that is read is run.
"""

from depyf.export.dumped_function import ExportError as ExportError
from depyf.export.package_folder import Package as Package
from depyf.export.package_folder import export_package as export_package
