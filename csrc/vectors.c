/* Which of the CPU's vectors are taken where loops are compiled for each kind of them. */

#include <stdatomic.h>
#include <stdint.h>
#include "sizes.h"
#include "tt_runtime.h"
#include "vectors.h"

static _Atomic int32_t highest_level = 4;

int32_t tt_set_vectors(int32_t level) { return atomic_exchange(&highest_level, level); }

int32_t tt_vector_level(void) {
    return (int32_t)least(vector_level(), atomic_load_explicit(&highest_level, memory_order_relaxed));
}
