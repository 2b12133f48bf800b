"""The control-flow graph: containers, basic blocks, and what the compiler did to them."""
