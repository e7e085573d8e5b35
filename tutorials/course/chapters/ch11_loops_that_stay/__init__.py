"""Chapter 11: loops that stay."""
