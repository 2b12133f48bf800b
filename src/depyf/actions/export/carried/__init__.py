"""Files that every package carries with it; depyf copies their text and never imports them."""
