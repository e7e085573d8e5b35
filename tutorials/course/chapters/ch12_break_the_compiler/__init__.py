"""Chapter 12: break the compiler: a laboratory of twenty faults."""
