"""Whole processes: how programs are started, exported from, forked and ended."""
