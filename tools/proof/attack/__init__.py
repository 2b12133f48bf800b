"""Attacks on the proof: changed programs that the verifier accepts are run beside the original."""
