/* A small thread pool for loops over independent chunks.

   One job at a time: a loop of `chunks` numbered chunks that threads take through one atomic word. The caller
   takes chunks too and never waits for a worker to start, so on a busy machine a job costs what it costs on one
   thread. Chunks depend on the job only, never on the number of threads: results do not either.

   The caller takes the first chunk that is left, workers the last: in loop after loop over the same arrays each core
   finds what it has in its caches. Where the two share none (vCPUs may lie on any cores of the host), a hundred steps of
   a stencil on 4 MiB take 11 ms so, and 38 if either takes whichever chunk comes next.

   The word holds the job's number in its upper half. A worker that wakes late, reads an old job and tries
   to take a chunk of it fails its compare-and-swap, so a job's fields may be reused as soon as its chunks are done. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>
#include "pool.h"

enum {
    MAX_THREADS = 256,
    MOST_CHUNKS = 64,      /* enough to even out the threads' speeds, few enough that taking them is cheap */
    WORKER_SPINS = 2000,   /* some 40 us: the next job of a chain of kernels finds the worker awake */
    CALLER_SPINS = 4000,
};

typedef void (*loop_body)(void *ctx, int64_t begin, int64_t end);

static struct {
    _Atomic uint64_t ticket; /* job number << 32 | chunks taken by the caller << 16 | by workers */
    _Atomic uint32_t chunks, done;
    _Atomic(loop_body) body;
    _Atomic(void *) ctx;
    _Atomic int64_t n, chunk;
} job;

static atomic_flag busy = ATOMIC_FLAG_INIT; /* a job is running: another caller's loop then runs on its own thread */
static _Thread_local bool inside;           /* this thread is in one of several chunks: nested loops run here */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static _Atomic int sleepers;
static _Atomic bool caller_sleeps;
static _Atomic int caller_core = -1;
static _Atomic int threads = 1, started; /* `started` workers exist; those numbered threads - 1 and up stay asleep */

/* One step of waiting. On a busy machine the thread that is awaited may sit on this very core, so the core is offered
   to others every microsecond or so. */
static inline void wait_step(int spins) {
    if (spins % 64 == 63) {
        sched_yield();
        return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_chunk(loop_body body, void *ctx, uint64_t index, int64_t chunk, int64_t n) {
    int64_t begin = (int64_t)index * chunk;
    body(ctx, begin, n - begin > chunk ? begin + chunk : n);
}

static uint64_t from_front(uint64_t ticket) { return ticket >> 16 & UINT16_MAX; }

static uint64_t from_back(uint64_t ticket) { return ticket & UINT16_MAX; }

/* Takes and runs one chunk of the current job; false when there is none left. */
static bool work_once(bool is_caller) {
    uint64_t ticket = atomic_load_explicit(&job.ticket, memory_order_acquire);
    uint32_t chunks = atomic_load_explicit(&job.chunks, memory_order_relaxed);
    if (from_front(ticket) + from_back(ticket) >= chunks) return false;
    uint64_t index = is_caller ? from_front(ticket) : chunks - 1 - from_back(ticket);
    uint64_t taken = ticket + (is_caller ? 1 << 16 : 1);
    loop_body body = atomic_load_explicit(&job.body, memory_order_relaxed);
    void *ctx = atomic_load_explicit(&job.ctx, memory_order_relaxed);
    int64_t n = atomic_load_explicit(&job.n, memory_order_relaxed);
    int64_t chunk = atomic_load_explicit(&job.chunk, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    /* Success proves that all of the above was one job's: its fields stay until this chunk is done. */
    if (!atomic_compare_exchange_strong_explicit(&job.ticket, &ticket, taken, memory_order_acq_rel,
                                                 memory_order_acquire))
        return true;
    run_chunk(body, ctx, index, chunk, n);
    if (atomic_fetch_add_explicit(&job.done, 1, memory_order_seq_cst) + 1 == chunks && atomic_load(&caller_sleeps)) {
        pthread_mutex_lock(&mutex);
        pthread_cond_signal(&finished);
        pthread_mutex_unlock(&mutex);
    }
    return true;
}

static bool work_waits(void) {
    uint64_t ticket = atomic_load(&job.ticket);
    return from_front(ticket) + from_back(ticket) < atomic_load(&job.chunks);
}

#ifdef __linux__
typedef cpu_set_t cores;
static void read_cores(cores *mine) {
    if (sched_getaffinity(0, sizeof *mine, mine)) CPU_ZERO(mine);
}

/* The kernel may wake a worker on its caller's core and leave both there, beside an idle one. A worker that finds
   itself there keeps to the other cores that it may use, until the caller comes to its new one. */
static void leave_callers_core(const cores *mine) {
    int core = atomic_load_explicit(&caller_core, memory_order_relaxed);
    if (core != sched_getcpu() || CPU_COUNT(mine) < 2) return;
    cores others = *mine;
    CPU_CLR(core, &others);
    sched_setaffinity(0, sizeof others, &others); /* where it fails, we stay: slower only */
}
#else
typedef int cores;
static int sched_getcpu(void) { return -1; }
static void read_cores(cores *mine) { *mine = 0; }
static void leave_callers_core(const cores *mine) { (void)mine; }
#endif

static bool takes_part(int number) { return number < atomic_load_explicit(&threads, memory_order_relaxed) - 1; }

static void *worker(void *argument) {
    int number = (int)(intptr_t)argument;
    cores mine;
    read_cores(&mine);
    inside = true;
    for (;;) {
        for (int spins = 0; spins < WORKER_SPINS && takes_part(number); spins++) {
            if (spins % 64 == 0) leave_callers_core(&mine);
            while (work_once(false)) spins = 0;
            wait_step(spins);
        }
        pthread_mutex_lock(&mutex);
        atomic_fetch_add(&sleepers, 1);
        while (!takes_part(number) || !work_waits()) pthread_cond_wait(&wake, &mutex);
        atomic_fetch_sub(&sleepers, 1);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

/* Workers start at the first loop that could use them, with signals blocked: those are for the caller's threads. */
static void start_workers(int wanted) {
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int count = atomic_load(&started); count < wanted; count++) {
        if (pthread_create(&thread, NULL, worker, (void *)(intptr_t)count)) break; /* fewer threads: slower only */
        pthread_detach(thread);
        atomic_store(&started, count + 1);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void publish(loop_body body, void *ctx, int64_t n, int64_t chunk, uint32_t chunks) {
    uint64_t number = (atomic_load(&job.ticket) >> 32) + 1;
    atomic_store_explicit(&job.ticket, number << 32 | UINT32_MAX, memory_order_seq_cst); /* nobody takes one now */
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&job.body, body, memory_order_relaxed);
    atomic_store_explicit(&job.ctx, ctx, memory_order_relaxed);
    atomic_store_explicit(&job.n, n, memory_order_relaxed);
    atomic_store_explicit(&job.chunk, chunk, memory_order_relaxed);
    atomic_store_explicit(&job.chunks, chunks, memory_order_relaxed);
    atomic_store_explicit(&job.done, 0, memory_order_relaxed);
    atomic_store_explicit(&caller_core, sched_getcpu(), memory_order_relaxed);
    atomic_store_explicit(&job.ticket, (number + 1) << 32, memory_order_seq_cst);
    if (atomic_load(&sleepers)) {
        pthread_mutex_lock(&mutex);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&mutex);
    }
}

static bool all_done(uint32_t chunks) { return atomic_load(&job.done) == chunks; }

static void wait_until_done(uint32_t chunks) {
    for (int spins = 0; spins < CALLER_SPINS; spins++) {
        if (all_done(chunks)) return;
        wait_step(spins);
    }
    pthread_mutex_lock(&mutex);
    atomic_store(&caller_sleeps, true);
    while (!all_done(chunks)) pthread_cond_wait(&finished, &mutex);
    atomic_store(&caller_sleeps, false);
    pthread_mutex_unlock(&mutex);
}

void tt_parallel_for(loop_body body, void *ctx, int64_t n, int64_t grain) {
    if (n <= 0) return;
    if (grain < 1) grain = 1;
    int64_t grains = (n - 1) / grain + 1, chunk = ((grains - 1) / MOST_CHUNKS + 1) * grain;
    uint32_t chunks = (uint32_t)((n - 1) / chunk + 1);
    int helpers = atomic_load_explicit(&threads, memory_order_relaxed) - 1;
    if (chunks == 1 || helpers < 1 || inside || atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
        bool before = inside;
        inside |= chunks > 1;
        for (uint32_t index = 0; index < chunks; index++) run_chunk(body, ctx, index, chunk, n);
        inside = before;
        return;
    }
    if (atomic_load_explicit(&started, memory_order_relaxed) < helpers) start_workers(helpers);
    inside = true;
    publish(body, ctx, n, chunk, chunks);
    while (work_once(true)) continue;
    wait_until_done(chunks);
    inside = false;
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

int32_t tt_inside_loop(void) { return inside; }

void tt_set_threads(int32_t wanted) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t allowed;
    if (!sched_getaffinity(0, sizeof allowed, &allowed)) cores = CPU_COUNT(&allowed);
#endif
    if (wanted < 1) wanted = cores > 0 ? (int32_t)cores : 1;
    atomic_store(&threads, wanted < MAX_THREADS ? wanted : MAX_THREADS);
}

int32_t tt_threads(void) { return atomic_load(&threads); }

int32_t tt_workers_started(void) { return atomic_load(&started); }

/* Only the forking thread lives on in a child: its pool starts anew, with no workers and no job. */
static void start_anew(void) {
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&wake, NULL);
    pthread_cond_init(&finished, NULL);
    atomic_store(&started, 0);
    atomic_store(&sleepers, 0);
    atomic_store(&caller_sleeps, false);
    atomic_store(&job.ticket, UINT32_MAX);
    atomic_flag_clear(&busy);
    inside = false;
}

__attribute__((constructor)) static void survive_fork_of_pool(void) {
    tt_set_threads(0);
    pthread_atfork(NULL, NULL, start_anew);
}
