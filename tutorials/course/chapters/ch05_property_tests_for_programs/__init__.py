"""Chapter 5: property tests for programs."""
