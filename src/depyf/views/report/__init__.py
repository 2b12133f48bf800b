"""One HTML page of a dump, that opens offline in any browser.  It reads what a dump holds and never imports torch."""
