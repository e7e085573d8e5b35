/* Stores of results that are larger than the caches: past them, so that nothing has to be read before it is overwritten
   and nothing that is still needed has to go. */

/* tt: tt_stream; needs:  */
/* Copies `bytes` bytes; whole lines of 64 bytes go straight to memory where the processor has such stores: in as few of
   them as it can, for between four of 16 bytes other lines come, and what is half a line is written by itself (1.1 to 2.7
   times as long, Zen 4). */
static inline void tt_stream(void *restrict to, const void *restrict from, size_t bytes) {
    size_t done = -(uintptr_t)to % 64 < bytes ? -(uintptr_t)to % 64 : bytes;
    __builtin_memcpy(to, from, done);
#ifdef __SSE2__
#if defined(__AVX512F__)
    enum { WIDTH = 64 };
#elif defined(__AVX__)
    enum { WIDTH = 32 };
#else
    enum { WIDTH = 16 };
#endif
    typedef long long words __attribute__((vector_size(WIDTH), may_alias));
    typedef long long any_words __attribute__((vector_size(WIDTH), may_alias, aligned(1)));
    for (; done + 64 <= bytes; done += 64)
        for (size_t i = done; i < done + 64; i += sizeof(words)) {
            words *place = (words *)((char *)to + i);
            const words line = *(const any_words *)((const char *)from + i);
#if defined(__clang__)
            __builtin_nontemporal_store(line, place);
#elif defined(__AVX512F__)
            __builtin_ia32_movntdq512(place, line);
#elif defined(__AVX__)
            __builtin_ia32_movntdq256(place, line);
#else
            __builtin_ia32_movntdq(place, line);
#endif
        }
#endif
    __builtin_memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

/* tt: tt_stream_end; needs:  */
/* What has been streamed is seen by other threads before what is stored after this. */
static inline void tt_stream_end(void) {
#ifdef __SSE2__
    __builtin_ia32_sfence();
#endif
}
