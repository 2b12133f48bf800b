"""The texts of the files of a package."""
