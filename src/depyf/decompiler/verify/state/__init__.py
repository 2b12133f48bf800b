"""What a proof knows at a pair of program points."""
