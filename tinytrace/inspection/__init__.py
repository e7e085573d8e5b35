"""What users look with: a jaxpr as a Python file or as a graph, a debugger for equations, a linter, a profiler.

Each module is imported when it is first asked for; nothing here is part of compiling or calling a function.
"""
