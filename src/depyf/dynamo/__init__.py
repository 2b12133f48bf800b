"""What pages of dumps import: names that stay where dumps of every version look for them."""
