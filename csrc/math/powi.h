/* Fixed integer powers above those that are written out as products: by repeated squaring, in XLA's order. */

/* tt: tt_powi_f32; needs:  */
static inline float tt_powi_f32(float x, uint32_t y) {
    float product = 1.0f;
    for (; y != 0; y >>= 1, x *= x) {
        if (y & 1) product *= x;
    }
    return product;
}

/* tt: tt_powi_f64; needs:  */
static inline double tt_powi_f64(double x, uint32_t y) {
    double product = 1.0;
    for (; y != 0; y >>= 1, x *= x) {
        if (y & 1) product *= x;
    }
    return product;
}

/* tt: tt_powi_i32; needs:  */
static inline int32_t tt_powi_i32(int32_t x, uint32_t y) {
    int32_t product = 1;
    for (; y != 0; y >>= 1, x *= x) {
        if (y & 1) product *= x;
    }
    return product;
}

/* tt: tt_powi_u32; needs:  */
static inline uint32_t tt_powi_u32(uint32_t x, uint32_t y) {
    uint32_t product = 1;
    for (; y != 0; y >>= 1, x *= x) {
        if (y & 1) product *= x;
    }
    return product;
}

/* tt: tt_powi_i64; needs:  */
static inline int64_t tt_powi_i64(int64_t x, uint32_t y) {
    int64_t product = 1;
    for (; y != 0; y >>= 1, x *= x) {
        if (y & 1) product *= x;
    }
    return product;
}

/* tt: tt_powi_u64; needs:  */
static inline uint64_t tt_powi_u64(uint64_t x, uint32_t y) {
    uint64_t product = 1;
    for (; y != 0; y >>= 1, x *= x) {
        if (y & 1) product *= x;
    }
    return product;
}
