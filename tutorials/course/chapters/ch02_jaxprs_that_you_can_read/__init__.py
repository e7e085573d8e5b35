"""Chapter 2: jaxprs that you can read."""
