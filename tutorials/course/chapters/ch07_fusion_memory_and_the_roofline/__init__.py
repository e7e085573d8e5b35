"""Chapter 7: fusion, memory and the roofline."""
