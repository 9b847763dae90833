"""The local receiver and store: OTLP in, one DuckDB file, and what can be read from it.

One process holds the file. Requests are answered once their rows are committed. Readers ask that process over loopback while it
runs, and open the file themselves when nobody holds it.
"""
