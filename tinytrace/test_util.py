"""Tools for testing derivatives (`jax.test_util`)."""
from tinytrace.testing.gradient_checks import check_grads as check_grads
from tinytrace.testing.gradient_checks import check_jvp as check_jvp
from tinytrace.testing.gradient_checks import check_vjp as check_vjp
