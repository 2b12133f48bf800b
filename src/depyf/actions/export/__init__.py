"""A compiled function as a Python package that runs without torch.compile.

Input: the folder of a dump.  Output: the folder of a package.  No torch; nothing that is read is run.
"""
