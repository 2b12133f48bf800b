# versions: 3.15+
lazy import json
lazy import os.path
lazy import os.path as p
lazy from os import path
lazy from . import x as y
lazy from ..pkg import a, b as c
