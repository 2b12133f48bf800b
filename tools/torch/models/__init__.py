"""``make models``: every model of the paper's Appendix C and the architectures since, with depyf and without, bit for bit."""
