"""``otel-agent verify``: canaries in every known carrier through a real pipeline, and a search of what arrived at its far ends.

A clean verdict needs evidence: it is given only where every turn that was sent has arrived.
"""
