"""The list of what rewrites kernels, in its order."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.passes.chunk_places import search_in_chunks
from tinytrace.codegen.passes.complex_dots import add_parts_as_they_lie
from tinytrace.codegen.passes.crosswise_folds import fold_rows_crosswise
from tinytrace.codegen.passes.dead_code import remove_dead_code
from tinytrace.codegen.passes.empty_loops import drop_empty_loops
from tinytrace.codegen.passes.epilogue import fuse_epilogues
from tinytrace.codegen.passes.flat_rows import flatten_short_rows
from tinytrace.codegen.passes.half_strips import round_in_strips
from tinytrace.codegen.passes.in_place import update_carries_in_place
from tinytrace.codegen.passes.index_set_splitting import split_index_sets
from tinytrace.codegen.passes.interchange import interchange_loops
from tinytrace.codegen.passes.kept_vectors import keep_vectors
from tinytrace.codegen.passes.loop_threads import spread_iterations
from tinytrace.codegen.passes.masked_folds import fold_one_iteration
from tinytrace.codegen.passes.narrow_gathers import read_narrow_elements_first
from tinytrace.codegen.passes.near_positions import search_in_blocks
from tinytrace.codegen.passes.parallel_folds import fold_side_by_side
from tinytrace.codegen.passes.prefetch import prefetch_rows
from tinytrace.codegen.passes.quotients import split_quotients
from tinytrace.codegen.passes.repeated_divisors import multiply_by_reciprocals
from tinytrace.codegen.passes.reuse import reuse_temporaries
from tinytrace.codegen.passes.short_axes import vectorise_around_short_axes
from tinytrace.codegen.passes.short_sums import add_in_blocks
from tinytrace.codegen.passes.streaming_stores import stream_results
from tinytrace.codegen.passes.streams import read_in_streams
from tinytrace.codegen.passes.strided_reads import read_strided_elements_first
from tinytrace.codegen.passes.strip_places import search_in_strips
from tinytrace.codegen.passes.threads import spread_over_threads
from tinytrace.codegen.passes.tiling import tile_loops
from tinytrace.codegen.passes.wider_first import convert_to_wider_first
from tinytrace.codegen.passes.woven_rows import weave_rows

PASSES: list[Callable[[Sequence[Kernel]], list[Kernel]]] = [
    drop_empty_loops, update_carries_in_place, interchange_loops, fold_one_iteration, split_index_sets, split_quotients,
    search_in_chunks, remove_dead_code, reuse_temporaries, fuse_epilogues, tile_loops, spread_over_threads,
    spread_iterations, stream_results, prefetch_rows, read_narrow_elements_first, vectorise_around_short_axes,
    read_strided_elements_first, weave_rows, flatten_short_rows, fold_rows_crosswise, multiply_by_reciprocals,
    convert_to_wider_first, round_in_strips, search_in_strips, search_in_blocks, add_in_blocks, add_parts_as_they_lie,
    fold_side_by_side, read_in_streams, keep_vectors,
]


def run_passes(kernels: Sequence[Kernel], watch: Callable[[str, list[Kernel]], None] = lambda *_: None) -> list[Kernel]:
    """Return what all passes make of a program; `watch(name, kernels)` sees the result of each."""
    result = list(kernels)
    for change in PASSES:
        watch(change.__name__, result := change(result))
    return result
