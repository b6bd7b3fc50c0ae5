"""The plan and the bills for a pressing day."""

__version__ = "0.4"
