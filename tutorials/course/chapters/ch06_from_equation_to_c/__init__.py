"""Chapter 6: from equation to C."""
