"""``.pyc`` files, read without executing anything."""
