"""A small till for a village shop."""

__version__ = "0.4.2"
