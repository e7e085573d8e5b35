"""`parse_jaxpr` for users: the parser, with every primitive known, those of modules that are imported late too."""
from tinytrace.control_flow import custom_transpose as custom_transpose
from tinytrace.control_flow import custom_vmap as custom_vmap
from tinytrace.control_flow import linear_call as linear_call
from tinytrace.control_flow import shard_map as shard_map
from tinytrace.control_flow import xla_pmap as xla_pmap
from tinytrace.core.parser import JaxprSyntaxError as JaxprSyntaxError
from tinytrace.core.parser import parse_jaxpr as parse_jaxpr
from tinytrace.lax import approximate_top_k as approximate_top_k
from tinytrace.lax import linalg as linalg
from tinytrace.lax import platforms as platforms
from tinytrace.lax import select_and_scatter as select_and_scatter
from tinytrace.lax import tridiagonal_systems as tridiagonal_systems
from tinytrace.primitives import collective_moves as collective_moves
from tinytrace.primitives import ragged_product as ragged_product
from tinytrace.primitives import replication as replication
from tinytrace.random import gamma_samples as gamma_samples  # defines a primitive
