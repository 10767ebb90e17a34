"""Tests of Manhole Gateway."""
