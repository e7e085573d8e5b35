"""The array API standard's own test suite, run against `tinytrace.numpy`: `run.py`, and what fails in `xfails.txt`."""
