"""How each kind of expression is printed."""
