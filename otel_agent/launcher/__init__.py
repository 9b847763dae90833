"""A folder that ``otel-agent run`` puts on ``PYTHONPATH``: Python runs the ``sitecustomize`` in it before the program."""
