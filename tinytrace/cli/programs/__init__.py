"""The programs of the introductory texts, each a file that runs by itself: `python -m tinytrace.cli.programs.selu`."""
