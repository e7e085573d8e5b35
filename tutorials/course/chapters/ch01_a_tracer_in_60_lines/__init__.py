"""Chapter 1: a tracer in 60 lines."""
