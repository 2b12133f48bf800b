# versions: 3.15+
lazy import json
lazy from os import path
