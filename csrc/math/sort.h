/* Stable sorting along one axis. Unlike the rest of csrc/math these functions work on whole arrays, of shape
   [outer, n, inner] in row-major order, sorted along the middle; a line is what lies at one outer and inner position.

   A program sorts an order, then applies it: `order` holds for each line the n positions in sorted order. Keys are
   turned into unsigned integers that compare alike, and those are sorted by insertion when they are few, else by
   radix, byte after byte from the least: stable, so sorting by the last key first sorts by all of them. */

/* tt: tt_order_identity; needs:  */
static void tt_order_identity(void *at, int64_t lines, int64_t n) {
    int64_t *order = at;
    for (int64_t line = 0; line < lines; line++)
        for (int64_t i = 0; i < n; i++)
            order[line * n + i] = i;
}

/* How a key compares. TOTAL tells -0 from 0; the others do not. NaN comes after all else. */
/* tt: tt_sort_key; needs:  */
enum { TT_UNSIGNED, TT_SIGNED, TT_FLOAT, TT_TOTAL, TT_DESCENDING = 4 };
static inline uint64_t tt_sort_key(const unsigned char *x, int32_t bytes, int32_t kind, uint64_t infinity) {
    uint64_t bits = 0, sign = 1ull << (8 * bytes - 1), all = sign | (sign - 1);
    switch (bytes) {
    case 1: bits = *x; break;
    case 2: { uint16_t part; __builtin_memcpy(&part, x, 2); bits = part; break; }
    case 4: { uint32_t part; __builtin_memcpy(&part, x, 4); bits = part; break; }
    default: __builtin_memcpy(&bits, x, 8);
    }
    int32_t order = kind & 3;
    if (order >= TT_FLOAT) {
        if ((bits & ~sign) > infinity)
            bits = all & ~sign;
        else if (order == TT_FLOAT && bits == sign)
            bits = 0;
        bits = bits & sign ? ~bits & all : bits | sign;
    } else if (order == TT_SIGNED) {
        bits ^= sign;
    }
    return kind & TT_DESCENDING ? ~bits & all : bits;
}

/* tt: tt_sort_items; needs:  */
struct tt_sort_item { uint64_t key; int64_t position; };
static struct tt_sort_item *tt_sort_items(struct tt_sort_item *items, struct tt_sort_item *other, int64_t n,
                                          int32_t bytes) {
    if (n <= 48) {
        for (int64_t i = 1; i < n; i++) {
            struct tt_sort_item item = items[i];
            int64_t k = i;
            for (; k > 0 && items[k - 1].key > item.key; k--)
                items[k] = items[k - 1];
            items[k] = item;
        }
        return items;
    }
    for (int32_t b = 0; b < bytes; b++) {
        int64_t count[256] = {0}, start = 0;
        for (int64_t i = 0; i < n; i++)
            count[items[i].key >> 8 * b & 255]++;
        if (count[items[0].key >> 8 * b & 255] == n)
            continue; /* this byte is the same everywhere */
        for (int32_t value = 0; value < 256; value++) {
            int64_t many = count[value];
            count[value] = start;
            start += many;
        }
        for (int64_t i = 0; i < n; i++)
            other[count[items[i].key >> 8 * b & 255]++] = items[i];
        struct tt_sort_item *sorted = other;
        other = items;
        items = sorted;
    }
    return items;
}

/* tt: tt_order_by; needs: tt_sort_key, tt_sort_items */
static void tt_order_by(void *at, const void *keys, int32_t bytes, int32_t kind, uint64_t infinity,
                        int64_t outer, int64_t n, int64_t inner, void *scratch) {
    int64_t *order = at;
    for (int64_t line = 0; line < outer * inner; line++) {
        const unsigned char *first = (const unsigned char *)keys + (line / inner * n * inner + line % inner) * bytes;
        struct tt_sort_item *items = scratch;
        for (int64_t i = 0; i < n; i++) {
            int64_t position = order[line * n + i];
            items[i].key = tt_sort_key(first + position * inner * bytes, bytes, kind, infinity);
            items[i].position = position;
        }
        items = tt_sort_items(items, items + n, n, bytes);
        for (int64_t i = 0; i < n; i++)
            order[line * n + i] = items[i].position;
    }
}

/* out[line, i] = in[line, order[line, i]] for the first `kept` positions of each line. */
/* tt: tt_order_apply; needs:  */
static void tt_order_apply(const void *at, const void *in, void *out, int64_t bytes, int64_t outer, int64_t n,
                           int64_t inner, int64_t kept) {
    const int64_t *order = at;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < kept; i++)
            for (int64_t k = 0; k < inner; k++)
                __builtin_memcpy((char *)out + ((o * kept + i) * inner + k) * bytes,
                                 (const char *)in + ((o * n + order[(o * inner + k) * n + i]) * inner + k) * bytes,
                                 bytes);
}

/* out[line, i] = order[line, i] for the first `kept` positions of each line, along the last axis. */
/* tt: tt_order_positions; needs:  */
static void tt_order_positions(const void *at, int32_t *out, int64_t lines, int64_t n, int64_t kept) {
    const int64_t *order = at;
    for (int64_t line = 0; line < lines; line++)
        for (int64_t i = 0; i < kept; i++)
            out[line * kept + i] = (int32_t)order[line * n + i];
}

/* The k first of each line of n, for a small k: every element is held against the last of the k best so far. */
/* tt: tt_top_k; needs: tt_sort_key, tt_sort_items */
static void tt_top_k(const void *in, void *values, int32_t *positions, int32_t bytes, int32_t kind, uint64_t infinity,
                     int64_t lines, int64_t n, int64_t k, void *scratch) {
    struct tt_sort_item *best = scratch;
    for (int64_t line = 0; line < lines; line++) {
        const unsigned char *first = (const unsigned char *)in + line * n * bytes;
        int64_t found = 0;
        for (int64_t i = 0; i < n; i++) {
            uint64_t key = tt_sort_key(first + i * bytes, bytes, kind, infinity);
            if (found == k && key >= best[k - 1].key)
                continue;
            int64_t place = found < k ? found++ : k - 1;
            for (; place > 0 && best[place - 1].key > key; place--)
                best[place] = best[place - 1];
            best[place].key = key;
            best[place].position = i;
        }
        for (int64_t i = 0; i < k; i++) {
            positions[line * k + i] = (int32_t)best[i].position;
            __builtin_memcpy((char *)values + (line * k + i) * bytes, first + best[i].position * bytes, bytes);
        }
    }
}
