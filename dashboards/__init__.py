"""Dashboards, recording rules and alerts, written as data and built into committed files by ``python -m dashboards.build``."""
