"""The files of a dump: their names, the manifest, reading and writing."""
