"""The command line: `tinytrace COMMAND`, or `python -m tinytrace COMMAND`."""
