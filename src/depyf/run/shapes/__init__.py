"""Which size may be what: torch's conditions on symbols in names of the program's inputs."""
