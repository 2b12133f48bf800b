"""Where the operations of graphs and the buffers of generated code come from, read while torch reports them."""
