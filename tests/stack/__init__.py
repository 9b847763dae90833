"""The servers of the pipeline: built, run and tested together."""
