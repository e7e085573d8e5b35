"""Passes: jaxpr to jaxpr, each one small, idempotent, and keeping types and meaning."""
