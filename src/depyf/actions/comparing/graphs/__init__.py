"""What two backends make of one captured graph."""
