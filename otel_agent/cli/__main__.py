"""``python -m otel_agent.cli``."""

from __future__ import annotations

import sys

from otel_agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
