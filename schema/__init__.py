"""What is generated from the records, and the generator: ``python -m schema.generate``."""
