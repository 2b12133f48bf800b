from os.path import *
from .local import *
