/* A pool of aligned blocks.

   Fresh pages cost more than the arithmetic done on them (a copy into fresh memory takes 5 to 20 times as long as
   one into warm memory), so freed blocks are kept by size class and handed out again. Small blocks come from
   malloc; large ones are mapped on their own, aligned to huge pages. What is kept is bounded. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "tt_runtime.h"

enum {
    LINE = 64,        /* alignment, size step, and the readable bytes after every block */
    LINEAR = 16,      /* up to this many lines, one size class per line */
    LINEAR_BITS = 10, /* log2(LINE * LINEAR) */
    STEPS = 8,        /* beyond, this many classes per doubling */
    LARGE_BITS = 21,  /* above 2 MiB, blocks are mapped and aligned to huge pages */
    CLASSES = LINEAR + STEPS * (LARGE_BITS - LINEAR_BITS),
    KEPT_LARGE = 64,
};
static const size_t HUGE_PAGE = (size_t)1 << LARGE_BITS;
static const size_t CLASS_KEEPS = (size_t)4 << 20, LARGE_KEEPS = (size_t)512 << 20;
static const size_t PAGE = 4096, PAGE_ALIGNED_FROM = 32768; /* inputs and outputs at equal offsets within a page */

struct size_class { /* a free block's first word points to the next one */
    void *first;
    size_t count;
};
struct large_block {
    void *start;
    size_t capacity;
};

static struct size_class classes[CLASSES];
static struct large_block kept[KEPT_LARGE]; /* oldest first */
static int kept_count;
static size_t kept_bytes;
static struct tt_alloc_stats stats;

/* Held for a few instructions only, so a thread that has to wait spins, and yields if that takes long. */
static atomic_flag locked = ATOMIC_FLAG_INIT;

static void lock(void) {
    for (int spins = 0; atomic_flag_test_and_set_explicit(&locked, memory_order_acquire); spins++)
        if (spins > 100) sched_yield();
}

static void unlock(void) { atomic_flag_clear_explicit(&locked, memory_order_release); }

/* The bytes that a block for `size` bytes occupies, 0 if that overflows. *index is its class; CLASSES means large. */
static size_t capacity_of(size_t size, int *index) {
    if (size > PTRDIFF_MAX / 2) return 0;
    size_t need = (size + LINE - 1) / LINE * LINE + LINE;
    if (need <= LINE * LINEAR) {
        *index = (int)(need / LINE) - 1;
        return need;
    }
    int bits = 63 - __builtin_clzll((unsigned long long)(need - 1)); /* 2^bits < need <= 2^(bits + 1) */
    size_t base = (size_t)1 << bits, step = base / STEPS, steps = (need - base + step - 1) / step; /* 1..STEPS */
    *index = bits >= LARGE_BITS ? CLASSES : LINEAR + (bits - LINEAR_BITS) * STEPS + (int)steps - 1;
    return base + steps * step;
}

/* Under the address sanitizer a program may touch the bytes that it asked for and nothing else: free blocks are hidden
   from it, and so are the spare bytes after a block in use, which are there for reads that nobody checks. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
static void show(void *start, size_t size) { __asan_unpoison_memory_region(start, size); }
static void hide(void *start, size_t size) { __asan_poison_memory_region(start, size); }
#else
static void show(void *start, size_t size) { (void)start, (void)size; }
static void hide(void *start, size_t size) { (void)start, (void)size; }
#endif

static void unmap_large(struct large_block block) {
    show(block.start, block.capacity); /* what is mapped there next is somebody else's */
    munmap(block.start, block.capacity);
}

static void *map_large(size_t capacity) {
    size_t mapped = capacity + HUGE_PAGE;
    char *raw = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    char *start = (char *)(((uintptr_t)raw + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
    char *end = start + capacity;
    if (start > raw) munmap(raw, (size_t)(start - raw));
    if (raw + mapped > end) munmap(end, (size_t)(raw + mapped - end));
#ifdef MADV_HUGEPAGE
    madvise(start, capacity, MADV_HUGEPAGE); /* advice: a kernel that declines it is only slower */
#endif
    return start;
}

static void *fresh_block(size_t capacity, int index) {
    void *block = NULL;
    if (index == CLASSES) return map_large(capacity);
    return posix_memalign(&block, capacity >= PAGE_ALIGNED_FROM ? PAGE : LINE, capacity) ? NULL : block;
}

/* The most recently kept large block of this capacity, or NULL. Call under the lock. */
static void *take_large(size_t capacity) {
    for (int i = kept_count - 1; i >= 0; i--) {
        if (kept[i].capacity != capacity) continue;
        void *start = kept[i].start;
        memmove(&kept[i], &kept[i + 1], (size_t)(--kept_count - i) * sizeof kept[0]);
        kept_bytes -= capacity;
        return start;
    }
    return NULL;
}

/* Keeps a large block and drops the oldest ones where bounds ask for it: they are put in `dropped`. Under the lock. */
static int keep_large(void *start, size_t capacity, struct large_block *dropped) {
    int drop = 0;
    if (capacity > LARGE_KEEPS) {
        dropped[0] = (struct large_block){start, capacity};
        return 1;
    }
    while (kept_count - drop == KEPT_LARGE || kept_bytes + capacity > LARGE_KEEPS) {
        dropped[drop] = kept[drop];
        kept_bytes -= kept[drop++].capacity;
    }
    memmove(kept, kept + drop, (size_t)(kept_count - drop) * sizeof kept[0]);
    kept_count -= drop;
    kept[kept_count++] = (struct large_block){start, capacity};
    kept_bytes += capacity;
    return drop;
}

static void *take_small(struct size_class *class) {
    void *block = class->first;
    if (block) {
        show(block, sizeof(void *));
        class->first = *(void **)block;
        class->count--;
    }
    return block;
}

uintptr_t tt_alloc(size_t size) {
    int index;
    size_t capacity = capacity_of(size, &index);
    if (!capacity) return 0;

    lock();
    void *block = index == CLASSES ? take_large(capacity) : take_small(&classes[index]);
    stats.live_blocks++;
    stats.live_bytes += (int64_t)capacity;
    if (stats.live_bytes > stats.peak_bytes) stats.peak_bytes = stats.live_bytes;
    stats.reused += block != NULL;
    stats.fresh += block == NULL;
    unlock();

    if (!block && !(block = fresh_block(capacity, index))) {
        tt_trim(); /* what is kept for other sizes may make room for this one */
        block = fresh_block(capacity, index);
    }
    if (!block) {
        lock();
        stats.live_blocks--, stats.live_bytes -= (int64_t)capacity, stats.fresh--;
        unlock();
        return 0;
    }
    hide(block, capacity);
    show(block, size);
    return (uintptr_t)block;
}

void tt_free(uintptr_t address, size_t size) {
    int index, drop = 0;
    if (!address) return;
    void *block = (void *)address, *excess = NULL;
    struct large_block dropped[KEPT_LARGE];
    size_t capacity = capacity_of(size, &index);
    show(block, capacity);

    lock();
    stats.live_blocks--;
    stats.live_bytes -= (int64_t)capacity;
    if (index == CLASSES) {
        drop = keep_large(block, capacity, dropped);
        hide(block, capacity);
    } else if (classes[index].count * capacity < CLASS_KEEPS) {
        *(void **)block = classes[index].first;
        hide(block, capacity);
        classes[index].first = block;
        classes[index].count++;
    } else {
        excess = block;
    }
    unlock();

    free(excess);
    for (int i = 0; i < drop; i++) unmap_large(dropped[i]);
}

void tt_trim(void) {
    struct large_block large[KEPT_LARGE];
    void *first;
    lock();
    int count = kept_count;
    memcpy(large, kept, sizeof kept);
    kept_count = 0;
    kept_bytes = 0;
    unlock();
    for (int i = 0; i < count; i++) unmap_large(large[i]);
    for (int index = 0; index < CLASSES; index++) {
        lock();
        first = classes[index].first;
        classes[index] = (struct size_class){NULL, 0};
        unlock();
        while (first) {
            show(first, sizeof(void *));
            void *next = *(void **)first;
            free(first);
            first = next;
        }
    }
}

void tt_alloc_read_stats(struct tt_alloc_stats *result) {
    lock();
    *result = stats;
    result->retained_bytes = (int64_t)kept_bytes;
    for (int index = 0; index < CLASSES; index++) {
        int bits = (index - LINEAR) / STEPS + LINEAR_BITS, steps = (index - LINEAR) % STEPS + 1;
        size_t base = (size_t)1 << bits;
        size_t capacity = index < LINEAR ? (size_t)(index + 1) * LINE : base + (size_t)steps * (base / STEPS);
        result->retained_bytes += (int64_t)(classes[index].count * capacity);
    }
    unlock();
}

/* A fork must not happen while another thread is inside: the child would find the lock taken for ever. */
__attribute__((constructor)) static void survive_fork(void) { pthread_atfork(lock, unlock, unlock); }
