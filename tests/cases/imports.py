import os
import os.path
import os.path as path
import a
import b as c
import x.y.z as w
from os import getcwd
from os import getcwd as cwd, path as p
from . import sibling
from .. import parent as up
from .mod import name
from ...pkg.mod import one, two
