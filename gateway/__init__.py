"""Manhole Gateway: one cabinet beside one control manhole, judged against one town's sewer ordinance."""

__version__ = "0.1.0"
