"""Chapter 3: an interpreter is a dictionary."""
