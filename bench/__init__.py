"""Measurements, each a script that prints what it measured and on what: none of them is part of the product."""
