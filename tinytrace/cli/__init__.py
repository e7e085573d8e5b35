"""The command line: `python -m tinytrace.cli demo`."""
