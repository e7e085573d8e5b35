"""`parse_jaxpr` for users: the parser, with every primitive known, those of modules that are imported late too."""
from tinytrace.control_flow import xla_pmap as xla_pmap
from tinytrace.core.parser import JaxprSyntaxError as JaxprSyntaxError
from tinytrace.core.parser import parse_jaxpr as parse_jaxpr
from tinytrace.primitives import collective_moves as collective_moves
from tinytrace.random import gamma_samples as gamma_samples  # defines a primitive
