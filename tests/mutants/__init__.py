"""Plants faults in copies of the package and tells which of them no test catches: `make mutants`.

    python -m tests.mutants record        # once: which test runs which lines, in a clone of the last commit
    python -m tests.mutants run           # plants the faults of a sample, one at a time; goes on where it was stopped
    python -m tests.mutants check         # do the tests that caught a fault pass without one?
    python -m tests.mutants report        # what was caught and what survived

    faults.py     what can be planted in Python and in C, and the sample that a seed draws from it
    selection.py  which tests belong to a line
    trial.py      one fault in one copy: plant it, run its tests, take it out again

A survivor is a law that nobody tests: write the test, then `run --only NAME --tests tests/that_file.py`. One that
changes nothing that can be observed stands in equivalent.txt with the reason. Tuning constants (names in capitals at
the top of a module), functions that choose between two right programs by their speed (SPEED_ONLY), texts of errors and
type hints are not touched: the benchmarks and the golden files judge these.

A trial costs what its tests cost: they run in a fork of a process that has read NumPy, Hypothesis and pytest, the tests
of the fault's own file first, short ones before long ones; the first failure ends it. What the first tests leave open
the others try when all faults have been tried once.

Why not a tool: mutmut replaces functions by trampolines, which shows in names, signatures and tracebacks, and these are
what many tests here compare; cosmic-ray chooses no tests by coverage, and a run of all of them takes minutes. Neither
plants in C. What is general is theirs: coverage.py records, pytest runs.
"""
