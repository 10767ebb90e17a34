"""Slow, plain readings of the law, written without looking at the engine, for comparison with it."""
