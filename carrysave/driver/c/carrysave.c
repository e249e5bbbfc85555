#include "carrysave.h"

#include <string.h>

#include "carrysave_coprocessor.h"

#ifdef CARRYSAVE_CONFIG
#include CARRYSAVE_CONFIG
#endif

#ifndef CARRYSAVE_READ
#define CARRYSAVE_READ(device, offset) \
    (*(volatile uint32_t *)((volatile uint8_t *)(device)->base + (offset)))
#endif
#ifndef CARRYSAVE_WRITE
#define CARRYSAVE_WRITE(device, offset, value) \
    ((void)(*(volatile uint32_t *)((volatile uint8_t *)(device)->base + (offset)) = (value)))
#endif
#ifndef CARRYSAVE_BARRIER
#ifdef __GNUC__
#define CARRYSAVE_BARRIER(device) __sync_synchronize()
#else
#error "CARRYSAVE_CONFIG must define CARRYSAVE_BARRIER for this compiler"
#endif
#endif
#ifndef CARRYSAVE_CLEAN
#define CARRYSAVE_CLEAN(device, address, bytes) ((void)(device), (void)(address), (void)(bytes))
#endif
#ifndef CARRYSAVE_INVALIDATE
#define CARRYSAVE_INVALIDATE(device, address, bytes) \
    ((void)(device), (void)(address), (void)(bytes))
#endif
#ifndef CARRYSAVE_RESET_POLLS
#define CARRYSAVE_RESET_POLLS 1000000u
#endif

#define REGISTER(name) ((uint32_t)offsetof(carrysave_coprocessor_t, name))
#define JOB(name) ((uint32_t)offsetof(carrysave_coprocessor__JOB_t, name))
#define MASK(field) ((uint32_t)CARRYSAVE_COPROCESSOR__##field##_bm)
#define SHIFT(field) CARRYSAVE_COPROCESSOR__##field##_bp
#define RESET(field) ((uint32_t)CARRYSAVE_COPROCESSOR__##field##_reset)

/* A field of a register that was read. */
#define FIELD(word, field) (((word) & MASK(field)) >> SHIFT(field))

typedef char carrysave_descriptor_is_whole
    [sizeof(carrysave_coprocessor__JOB_t) == CARRYSAVE_DESCRIPTOR_BYTES ? 1 : -1];

static uint32_t get(carrysave *device, uint32_t offset)
{
    (void)device;
    return CARRYSAVE_READ(device, offset);
}

static void put(carrysave *device, uint32_t offset, uint32_t value)
{
    (void)device;
    CARRYSAVE_WRITE(device, offset, value);
}

/* The lower half keeps the upper as it was. */
static uint64_t get_wide(carrysave *device, uint32_t offset)
{
    const uint32_t low = get(device, offset);
    return low | (uint64_t)get(device, offset + 4u) << 32;
}

static uint32_t ceil_div(uint32_t value, uint32_t by)
{
    return value / by + (value % by != 0);
}

static uint64_t row_bytes(uint32_t columns, uint32_t bits)
{
    return ((uint64_t)columns * bits + 7u) / 8u;
}

/* Words of A and of B, which an engine of integers has of one code each: bits, and how many along
 * K. */
typedef struct {
    uint32_t a_bits, b_bits, k;
} words;

static words words_of(const carrysave *device, const carrysave_job *job)
{
    const carrysave_mode *mode = &job->mode;
    words w;

    w.a_bits = mode->codes ? mode->codes * mode->a_bits : device->info.a.bits;
    w.b_bits = mode->codes ? mode->codes * mode->b_bits : device->info.b.bits;
    w.k = mode->codes ? ceil_div(job->k, mode->codes) : job->k;
    return w;
}

static uint32_t c_bits(const carrysave *device, const carrysave_job *job)
{
    return job->requantise ? device->info.code.bits : device->info.sum.bits;
}

/* Bytes from the first of a matrix to behind its last; below 2^57. */
static uint64_t extent(uint32_t rows, uint32_t distance, uint64_t row)
{
    return (uint64_t)(rows - 1u) * distance + row;
}

carrysave_status carrysave_open(carrysave *device, volatile void *base, void *context)
{
    carrysave_info *info = &device->info;
    uint32_t word;

    memset(device, 0, sizeof *device);
    device->base = base;
    device->context = context;
    if (get(device, REGISTER(MAGIC)) != RESET(MAGIC__VALUE))
        return CARRYSAVE_NO_DEVICE;
    if (get(device, REGISTER(ABI)) != RESET(ABI__VALUE))
        return CARRYSAVE_OTHER_ABI;
    info->version = get(device, REGISTER(VERSION));
    info->engine = get(device, REGISTER(ENGINE));
    info->hash = get_wide(device, REGISTER(HASH_LO));
    info->tile_m = get(device, REGISTER(TILE_M));
    info->tile_n = get(device, REGISTER(TILE_N));
    info->tile_k = get(device, REGISTER(TILE_K));
    info->k_max = get(device, REGISTER(K_MAX));
    info->address_width = get(device, REGISTER(ADDRESS_WIDTH));
    info->data_width = get(device, REGISTER(DATA_WIDTH));
    info->outstanding = get(device, REGISTER(OUTSTANDING));
    info->dimension_width = get(device, REGISTER(DIMENSION_WIDTH));
    info->sums = get(device, REGISTER(SUMS));
    info->a_bytes = get(device, REGISTER(A_BYTES));
    info->b_bytes = get(device, REGISTER(B_BYTES));
    info->a.bits = get(device, REGISTER(A_BITS));
    info->b.bits = get(device, REGISTER(B_BITS));
    info->sum.bits = 8u * get(device, REGISTER(SUM_BYTES));
    info->code.bits = get(device, REGISTER(C_BITS));
    word = get(device, REGISTER(NUMBERS));
    info->a.width = FIELD(word, NUMBERS__A_WIDTH);
    info->a.is_signed = FIELD(word, NUMBERS__A_SIGNED) != 0;
    info->b.width = FIELD(word, NUMBERS__B_WIDTH);
    info->b.is_signed = FIELD(word, NUMBERS__B_SIGNED) != 0;
    info->sum.width = FIELD(word, NUMBERS__SUM_WIDTH);
    info->sum.is_signed = FIELD(word, NUMBERS__SUM_SIGNED) != 0;
    info->code.width = FIELD(word, NUMBERS__C_WIDTH);
    info->code.is_signed = FIELD(word, NUMBERS__C_SIGNED) != 0;
    word = get(device, REGISTER(FEATURES));
    info->requantiser = FIELD(word, FEATURES__REQUANTISER) != 0;
    info->per_column = FIELD(word, FEATURES__PER_COLUMN) != 0;
    info->bias = FIELD(word, FEATURES__BIAS) != 0;
    info->accumulate = FIELD(word, FEATURES__ACCUMULATE) != 0;
    info->ring = FIELD(word, FEATURES__RING) != 0;
    info->scales = FIELD(word, FEATURES__SCALES) != 0;
    info->formats = FIELD(word, FEATURES__FORMATS) != 0;
    info->fixed_blocks = FIELD(word, FEATURES__FIXED_BLOCKS) != 0;
    info->uncounted = FIELD(word, FEATURES__UNCOUNTED) != 0;
    return carrysave_reset(device);
}

carrysave_status carrysave_reset(carrysave *device)
{
    const bool enabled = get(device, REGISTER(GIER)) != 0;
    uint32_t polls;

    put(device, REGISTER(CTRL), MASK(CTRL__RESET));
    for (polls = 0; polls < CARRYSAVE_RESET_POLLS; polls++) {
        if (!(get(device, REGISTER(CTRL)) & MASK(CTRL__RESET))) {
            carrysave_interrupt(device, enabled);
            return CARRYSAVE_OK;
        }
    }
    return CARRYSAVE_LOST;
}

void carrysave_interrupt(carrysave *device, bool enable)
{
    put(device, REGISTER(IER), enable ? MASK(IER__DONE) : 0u);
    put(device, REGISTER(GIER), enable ? MASK(GIER__ENABLE) : 0u);
}

static uint32_t whole_beats(const carrysave *device, uint64_t bytes)
{
    const uint32_t beat = device->info.data_width / 8u;
    return beat * (uint32_t)((bytes + beat - 1u) / beat);
}

void carrysave_job_init_mode(const carrysave *device, carrysave_job *job,
                             const carrysave_mode *mode, uint32_t m, uint32_t n, uint32_t k,
                             bool requantise)
{
    const carrysave_number *code = &device->info.code;
    words w;

    memset(job, 0, sizeof *job);
    job->mode = *mode;
    job->m = m;
    job->n = n;
    job->k = k;
    job->requantise = requantise;
    w = words_of(device, job);
    job->lda = whole_beats(device, row_bytes(w.k, w.a_bits));
    job->ldb = whole_beats(device, row_bytes(n, w.b_bits));
    job->ldc = whole_beats(device, row_bytes(n, c_bits(device, job)));
    if (requantise) {
        job->low = code->is_signed ? -(int32_t)(1u << (code->width - 1u)) : 0;
        job->high = (int32_t)((1u << (code->width - code->is_signed)) - 1u);
    }
}

void carrysave_job_init(const carrysave *device, carrysave_job *job, uint32_t m, uint32_t n,
                        uint32_t k, bool requantise)
{
    carrysave_mode none;
    memset(&none, 0, sizeof none);
    carrysave_job_init_mode(device, job, &none, m, n, k, requantise);
}

/* Blocks of a product: the search, its candidates in their order, and what they cost are those
 * of golden/soc/blocking.py. */

typedef struct {
    uint32_t tile_m, tile_n, tile_k, a_bits, b_bits, data_width, outstanding;
    uint32_t a_slices, b_slices, a_words, b_words, rows;
} stores;

typedef struct {
    uint32_t m, n, k;
    bool by_columns;
} blocks;

typedef struct {
    uint64_t cycles, read_beats;
} cost;

/* Bits of a word of a store, which is of slices of so many bits. */
static uint32_t word_bits(uint32_t beat, uint32_t bits)
{
    uint32_t count = 1;
    while (count * bits < beat || count * bits % 8u)
        count *= 2u;
    return count * bits;
}

static stores stores_of(const carrysave_info *info, words w)
{
    /* Stores are made for the widest words. */
    const uint32_t a_word = word_bits(info->data_width, info->tile_k * info->a.bits);
    const uint32_t b_word = word_bits(info->data_width, info->tile_n * info->b.bits);
    stores s;
    s.tile_m = info->tile_m;
    s.tile_n = info->tile_n;
    s.tile_k = info->tile_k;
    s.a_bits = w.a_bits;
    s.b_bits = w.b_bits;
    s.data_width = info->data_width;
    s.outstanding = info->outstanding;
    s.a_slices = a_word / (s.tile_k * s.a_bits);
    s.b_slices = b_word / (s.tile_n * s.b_bits);
    s.a_words = info->a_bytes / (s.tile_m * (a_word / 8u));
    s.b_words = info->b_bytes / (s.tile_k * (b_word / 8u));
    s.rows = info->sums / s.tile_n;
    return s;
}

static bool fits(const stores *s, uint32_t m, uint32_t n, uint32_t k)
{
    return (uint64_t)k * s->tile_k * s->a_bits % 8u == 0
        && (uint64_t)n * s->tile_n * s->b_bits % 8u == 0
        && (uint64_t)m * ceil_div(k, s->a_slices) <= s->a_words
        && (uint64_t)k * ceil_div(n, s->b_slices) <= s->b_words
        && (uint64_t)m * s->tile_m * n <= s->rows;
}

static uint32_t most_beats(const stores *s, uint32_t m, uint32_t n)
{
    const uint32_t of_a = s->a_words / m * s->a_slices;
    const uint32_t of_b = s->b_words / ceil_div(n, s->b_slices);
    uint32_t k = of_a < of_b ? of_a : of_b;
    while (k && !fits(s, m, n, k))
        k--;
    return k;
}

static uint64_t most(uint64_t x, uint64_t y)
{
    return x > y ? x : y;
}

static uint32_t least(uint32_t x, uint32_t y)
{
    return x < y ? x : y;
}

/* Beats of `count` rows, each of `length` numbers, read by parts. */
static uint64_t beats(const stores *s, uint32_t count, uint32_t length, uint32_t part,
                      uint32_t bits, uint32_t fewest)
{
    const uint32_t whole = length / part, rest = length % part;
    const uint64_t of_part = ((uint64_t)part * bits + s->data_width - 1u) / s->data_width;
    const uint64_t of_rest = ((uint64_t)rest * bits + s->data_width - 1u) / s->data_width;
    uint64_t found = whole * most(of_part, fewest);
    if (rest)
        found += most(of_rest, fewest);
    return count * found;
}

static cost cost_of(const stores *s, const carrysave_job *job, uint32_t bits, blocks block)
{
    const uint32_t fewest = ceil_div(64u, s->outstanding); /* cycles of a read, as is supposed */
    const uint32_t m = job->m, n = job->n, k = job->k;
    const uint32_t rows = block.m * s->tile_m, columns = block.n * s->tile_n;
    const uint32_t codes = block.k * s->tile_k;
    const uint32_t ups = ceil_div(m, rows), acrosses = ceil_div(n, columns);
    const bool whole_k = ceil_div(k, codes) == 1u;
    const uint32_t times_a = whole_k && !block.by_columns ? 1u : acrosses;
    const uint32_t times_b = whole_k && block.by_columns ? 1u : ups;
    const uint64_t load = times_a * beats(s, m, k, codes, s->a_bits, fewest)
        + times_b * beats(s, k, n, columns, s->b_bits, fewest);
    const uint64_t first = beats(s, least(m, rows), least(k, codes), codes, s->a_bits, fewest)
        + beats(s, least(k, codes), least(n, columns), columns, s->b_bits, fewest);
    const uint64_t last = beats(s, least(m, rows), least(n, columns), columns, bits, fewest);
    const uint64_t tiles = (uint64_t)ceil_div(m, s->tile_m) * ceil_div(n, s->tile_n);
    const uint32_t drain = s->tile_m + (s->tile_m - 1u) / 8u;
    const uint32_t depth = ceil_div(k, s->tile_k);
    uint64_t busy;
    cost found;

    if (block.m == 1u && block.n == 1u) {
        busy = most(depth, drain);
    } else {
        busy = depth / block.k * most(block.k, drain);
        if (depth % block.k)
            busy += most(depth % block.k, drain);
    }
    busy = most(tiles * busy, beats(s, m, n, columns, bits, fewest));
    if (load > first)
        busy = most(busy, load - first);
    found.cycles = first + busy + last;
    found.read_beats = times_a * beats(s, m, k, codes, s->a_bits, 1u)
        + times_b * beats(s, k, n, columns, s->b_bits, 1u);
    return found;
}

static uint32_t grain_of(uint32_t bits)
{
    uint32_t count = 1;
    while (count * bits % 8u)
        count *= 2u;
    return count;
}

static uint32_t up_to(uint32_t size, uint32_t grain)
{
    return ceil_div(size, grain) * grain;
}

/* The next of the sizes that cut a whole into like parts, above `size`; 0 if there is none. */
static uint32_t next_size(uint32_t whole, uint32_t limit, uint32_t grain, uint32_t size)
{
    uint32_t part, found;
    for (part = size + 1u; part <= least(whole, limit); part++) {
        found = up_to(ceil_div(whole, ceil_div(whole, part)), grain);
        if (found > size && found <= limit)
            return found;
    }
    return 0;
}

/* The next of them below `size`. */
static uint32_t previous_size(uint32_t whole, uint32_t limit, uint32_t grain, uint32_t size)
{
    uint32_t part, found;
    for (part = least(least(whole, limit), size - 1u); part; part--) {
        found = up_to(ceil_div(whole, ceil_div(whole, part)), grain);
        if (found < size && found <= limit)
            return found;
    }
    return 0;
}

typedef struct {
    uint64_t cycles; /* fewest of all, then most that are allowed */
    bool any;
    blocks best;
    cost of_best;
} search;

static void consider(const stores *s, const carrysave_job *job, uint32_t bits, search *found,
                     bool choose, uint32_t m, uint32_t n, uint32_t k)
{
    int order;
    for (order = 0; order < 2; order++) {
        blocks block;
        cost its;
        block.m = m;
        block.n = n;
        block.k = k;
        block.by_columns = order != 0;
        its = cost_of(s, job, bits, block);
        if (!choose) {
            if (its.cycles < found->cycles)
                found->cycles = its.cycles;
        } else if (50u * its.cycles <= found->cycles
                   && (!found->any || its.read_beats < found->of_best.read_beats
                       || (its.read_beats == found->of_best.read_beats
                           && its.cycles < found->of_best.cycles))) {
            found->any = true;
            found->best = block;
            found->of_best = its;
        }
    }
}

static void consider_all(const stores *s, const carrysave_job *job, uint32_t bits, search *found,
                         bool choose)
{
    const uint32_t tiles_m = ceil_div(job->m, s->tile_m), tiles_n = ceil_div(job->n, s->tile_n);
    const uint32_t depth = ceil_div(job->k, s->tile_k);
    const uint32_t grain_n = grain_of(s->tile_n * s->b_bits);
    const uint32_t grain_k = grain_of(s->tile_k * s->a_bits);
    uint32_t m, n, k;

    for (m = next_size(tiles_m, s->a_words, 1u, 0u); m;
         m = next_size(tiles_m, s->a_words, 1u, m)) {
        const uint32_t most_n = s->rows / (m * s->tile_m);
        for (n = next_size(tiles_n, most_n, grain_n, 0u); n;
             n = next_size(tiles_n, most_n, grain_n, n)) {
            const uint32_t most_k = most_beats(s, m, n);
            const uint32_t longest = least(most_k, up_to(depth, grain_k));
            if (longest)
                consider(s, job, bits, found, choose, m, n, longest);
            for (k = previous_size(depth, most_k, grain_k, longest);
                 longest && k >= s->tile_m && k;
                 k = previous_size(depth, most_k, grain_k, k))
                consider(s, job, bits, found, choose, m, n, k);
        }
    }
}

void carrysave_plan(const carrysave *device, carrysave_job *job)
{
    const words w = words_of(device, job);
    const stores s = stores_of(&device->info, w);
    const uint32_t bits = c_bits(device, job);
    carrysave_job of_words = *job;
    search found;

    of_words.k = w.k;
    memset(&found, 0, sizeof found);
    if (device->info.fixed_blocks) {
        job->block_m = job->block_n = job->block_k = 0u;
        job->by_columns = false;
        return;
    }
    found.cycles = UINT64_MAX / 64u;
    consider_all(&s, &of_words, bits, &found, false);
    found.cycles *= 51u;
    consider_all(&s, &of_words, bits, &found, true);
    job->block_m = found.best.m;
    job->block_n = found.best.n;
    job->block_k = found.best.k;
    job->by_columns = found.best.by_columns;
}

static bool reaches(const carrysave *device, uint64_t address, uint64_t bytes)
{
    const uint32_t width = device->info.address_width;
    const uint64_t last = width >= 64u ? UINT64_MAX : ((uint64_t)1 << width) - 1u;
    return address <= last && bytes - 1u <= last - address;
}

static bool in_range(const carrysave_number *number, int64_t value)
{
    const int64_t half = (int64_t)1 << (number->width - 1u);
    return number->is_signed ? value >= -half && value < half : value >= 0 && value < 2 * half;
}

static bool can_requantise(const carrysave *device, const carrysave_job *job)
{
    const carrysave_number *code = &device->info.code;
    if (!in_range(code, job->low) || !in_range(code, job->high) || job->low > job->high)
        return false;
    if (job->per_column)
        return true;
    return job->multiplier <= MASK(JOB__MULTIPLIER__VALUE)
        && job->shift <= MASK(JOB__SHIFT__VALUE) && in_range(code, job->zero_point)
        && (!job->relu || job->zero_point <= job->high);
}

carrysave_status carrysave_check(const carrysave *device, const carrysave_job *job)
{
    const carrysave_info *info = &device->info;
    const carrysave_mode *mode = &job->mode;
    const uint32_t top = ((uint32_t)1 << info->dimension_width) - 1u;
    const words w = words_of(device, job);
    const uint64_t row_a = row_bytes(w.k, w.a_bits), row_b = row_bytes(job->n, w.b_bits);
    const uint64_t row_c = row_bytes(job->n, c_bits(device, job));

    if (!job->m || !job->n || !job->k || job->m > top || job->n > top || job->k > top)
        return CARRYSAVE_BAD_DIMENSION;
    if (job->k > (mode->codes ? mode->k_max : info->k_max))
        return CARRYSAVE_BAD_K;
    if ((job->requantise && !info->requantiser) || (job->add_bias && !info->bias)
        || (job->per_column && (!info->per_column || !job->requantise))
        || (job->accumulate && (!info->accumulate || job->requantise || job->add_bias))
        || (info->fixed_blocks
            && (job->block_m || job->block_n || job->block_k || job->by_columns))
        || info->formats != (mode->codes != 0) || w.a_bits > info->a.bits || w.b_bits > info->b.bits
        || mode->a_format > MASK(JOB__MODE__A_FORMAT)
        || mode->b_format > MASK(JOB__MODE__B_FORMAT) >> SHIFT(JOB__MODE__B_FORMAT))
        return CARRYSAVE_BAD_MODE;
    if (job->lda < row_a || job->ldb < row_b || job->ldc < row_c)
        return CARRYSAVE_BAD_ROW;
    if (!reaches(device, job->a, extent(job->m, job->lda, row_a))
        || !reaches(device, job->b, extent(w.k, job->ldb, row_b))
        || !reaches(device, job->c, extent(job->m, job->ldc, row_c))
        || (job->add_bias && !reaches(device, job->bias, row_bytes(job->n, info->sum.bits)))
        || (job->per_column
            && !reaches(device, job->records, (uint64_t)job->n * CARRYSAVE_RECORD_BYTES)))
        return CARRYSAVE_BAD_ADDRESS;
    if (job->block_m && job->block_n && job->block_k) {
        const stores s = stores_of(info, w);
        if (!fits(&s, job->block_m, job->block_n, job->block_k))
            return CARRYSAVE_BAD_BLOCK;
    }
    if (job->requantise && !can_requantise(device, job))
        return CARRYSAVE_BAD_REQUANTISATION;
    return CARRYSAVE_OK;
}

static void store(uint8_t *place, uint32_t value)
{
    place[0] = (uint8_t)value;
    place[1] = (uint8_t)(value >> 8);
    place[2] = (uint8_t)(value >> 16);
    place[3] = (uint8_t)(value >> 24);
}

static void store_wide(uint8_t *place, uint64_t value)
{
    store(place, (uint32_t)value);
    store(place + 4, (uint32_t)(value >> 32));
}

static uint32_t load(const uint8_t *place)
{
    return place[0] | (uint32_t)place[1] << 8 | (uint32_t)place[2] << 16 | (uint32_t)place[3] << 24;
}

void carrysave_describe(const carrysave_job *job, uint8_t descriptor[CARRYSAVE_DESCRIPTOR_BYTES])
{
    uint32_t mode = job->mode.a_format << SHIFT(JOB__MODE__A_FORMAT)
        | job->mode.b_format << SHIFT(JOB__MODE__B_FORMAT)
        | (uint32_t)job->requantise << SHIFT(JOB__MODE__REQUANTISE)
        | (uint32_t)job->add_bias << SHIFT(JOB__MODE__BIAS)
        | (uint32_t)job->per_column << SHIFT(JOB__MODE__PER_COLUMN)
        | (uint32_t)job->accumulate << SHIFT(JOB__MODE__ACCUMULATE)
        | (uint32_t)job->by_columns << SHIFT(JOB__MODE__ORDER);

    memset(descriptor, 0, CARRYSAVE_DESCRIPTOR_BYTES);
    store_wide(descriptor + JOB(A_LO), job->a);
    store_wide(descriptor + JOB(B_LO), job->b);
    store_wide(descriptor + JOB(C_LO), job->c);
    if (job->add_bias)
        store_wide(descriptor + JOB(BIAS_LO), job->bias);
    store(descriptor + JOB(M), job->m);
    store(descriptor + JOB(N), job->n);
    store(descriptor + JOB(K), job->k);
    store(descriptor + JOB(LDA), job->lda);
    store(descriptor + JOB(LDB), job->ldb);
    store(descriptor + JOB(LDC), job->ldc);
    if (job->requantise) {
        mode |= (uint32_t)job->relu << SHIFT(JOB__MODE__RELU);
        store(descriptor + JOB(LOW), (uint32_t)job->low & MASK(JOB__LOW__VALUE));
        store(descriptor + JOB(HIGH), (uint32_t)job->high & MASK(JOB__HIGH__VALUE));
        if (job->per_column) {
            store_wide(descriptor + JOB(REQUANT_LO), job->records);
        } else {
            store(descriptor + JOB(MULTIPLIER), job->multiplier);
            store(descriptor + JOB(SHIFT), job->shift);
            store(descriptor + JOB(ZERO_POINT),
                  (uint32_t)job->zero_point & MASK(JOB__ZERO_POINT__VALUE));
        }
    }
    store(descriptor + JOB(MODE), mode);
    store(descriptor + JOB(BLOCK_M), job->block_m);
    store(descriptor + JOB(BLOCK_N), job->block_n);
    store(descriptor + JOB(BLOCK_K), job->block_k);
}

void carrysave_record(uint32_t multiplier, uint32_t shift, int32_t zero_point,
                      uint8_t record[CARRYSAVE_RECORD_BYTES])
{
    store(record, multiplier);
    record[4] = (uint8_t)shift;
    record[5] = 0;
    record[6] = (uint8_t)((uint32_t)zero_point & 0xFFu);
    record[7] = (uint8_t)((uint32_t)zero_point >> 8 & 0xFFu);
}

/* Check a job, and write caches back of all that the device reads, and of C, a line of which would
 * otherwise be written over what the device wrote. */
static carrysave_status prepare(carrysave *device, const carrysave_job *job)
{
    const carrysave_info *info = &device->info;
    const words w = words_of(device, job);
    const carrysave_status status = carrysave_check(device, job);

    if (status != CARRYSAVE_OK)
        return status;
    CARRYSAVE_CLEAN(device, job->a, extent(job->m, job->lda, row_bytes(w.k, w.a_bits)));
    CARRYSAVE_CLEAN(device, job->b, extent(w.k, job->ldb, row_bytes(job->n, w.b_bits)));
    CARRYSAVE_CLEAN(device, job->c,
                    extent(job->m, job->ldc, row_bytes(job->n, c_bits(device, job))));
    if (job->add_bias)
        CARRYSAVE_CLEAN(device, job->bias, row_bytes(job->n, info->sum.bits));
    if (job->per_column)
        CARRYSAVE_CLEAN(device, job->records, (uint64_t)job->n * CARRYSAVE_RECORD_BYTES);
    return CARRYSAVE_OK;
}

static bool is_busy(carrysave *device)
{
    return !(get(device, REGISTER(CTRL)) & MASK(CTRL__IDLE));
}

carrysave_status carrysave_start(carrysave *device, const carrysave_job *job)
{
    uint8_t image[CARRYSAVE_DESCRIPTOR_BYTES];
    uint32_t offset;
    carrysave_status status = prepare(device, job);

    if (status != CARRYSAVE_OK)
        return status;
    if (is_busy(device))
        return CARRYSAVE_BUSY;
    carrysave_describe(job, image);
    for (offset = 0; offset < JOB(RESERVED); offset += 4u)
        put(device, REGISTER(JOB) + offset, load(image + offset));
    put(device, REGISTER(RING_COUNT), 0u);
    CARRYSAVE_BARRIER(device);
    put(device, REGISTER(CTRL), MASK(CTRL__START));
    return CARRYSAVE_OK;
}

carrysave_status carrysave_start_ring(carrysave *device, const carrysave_job *jobs, uint32_t count,
                                      void *ring, uint64_t address)
{
    const uint64_t bytes = (uint64_t)count * CARRYSAVE_DESCRIPTOR_BYTES;
    uint32_t number;

    if (!device->info.ring)
        return CARRYSAVE_BAD_MODE;
    if (!count || address % (device->info.data_width / 8u) || !reaches(device, address, bytes))
        return CARRYSAVE_BAD_RING;
    if (is_busy(device))
        return CARRYSAVE_BUSY;
    for (number = 0; number < count; number++) {
        const carrysave_status status = prepare(device, &jobs[number]);
        if (status != CARRYSAVE_OK)
            return status;
        carrysave_describe(&jobs[number],
                           (uint8_t *)ring + (size_t)number * CARRYSAVE_DESCRIPTOR_BYTES);
    }
    CARRYSAVE_CLEAN(device, address, bytes);
    put(device, REGISTER(RING_LO), (uint32_t)address);
    put(device, REGISTER(RING_HI), (uint32_t)(address >> 32));
    put(device, REGISTER(RING_COUNT), count);
    CARRYSAVE_BARRIER(device);
    put(device, REGISTER(CTRL), MASK(CTRL__START));
    return CARRYSAVE_OK;
}

/* Reset, and tell why; or that it could not be done. */
static carrysave_status give_up(carrysave *device, carrysave_status why)
{
    const carrysave_status status = carrysave_reset(device);
    return status == CARRYSAVE_OK ? why : status;
}

carrysave_status carrysave_wait(carrysave *device, uint32_t polls, carrysave_wait_function wait,
                                void *argument)
{
    uint32_t polled = 0, word;

    while (!(get(device, REGISTER(CTRL)) & MASK(CTRL__DONE))) {
        polled++;
        if ((polls && polled == polls) || (wait && !wait(device, argument))) {
            device->jobs_done = get(device, REGISTER(RING_DONE));
            return give_up(device, CARRYSAVE_TIMEOUT);
        }
    }
    CARRYSAVE_BARRIER(device);
    put(device, REGISTER(ISR), get(device, REGISTER(ISR)));
    device->jobs_done = get(device, REGISTER(RING_DONE));
    word = get(device, REGISTER(ERROR));
    if (FIELD(word, ERROR__CODE)) {
        device->error.code = FIELD(word, ERROR__CODE);
        device->error.response = FIELD(word, ERROR__RESPONSE);
        device->error.job = get(device, REGISTER(ERROR_JOB));
        device->error.address = get_wide(device, REGISTER(ERROR_ADDRESS_LO));
        return give_up(device, CARRYSAVE_FAILED);
    }
    if (FIELD(word, ERROR__IGNORED))
        return give_up(device, CARRYSAVE_DISTURBED);
    return CARRYSAVE_OK;
}

void carrysave_finish(carrysave *device, const carrysave_job *jobs, uint32_t count)
{
    uint32_t number;
    for (number = 0; number < count; number++) {
        const carrysave_job *job = &jobs[number];
        CARRYSAVE_INVALIDATE(device, job->c,
                             extent(job->m, job->ldc, row_bytes(job->n, c_bits(device, job))));
    }
}

void carrysave_read_counters(carrysave *device, carrysave_counters *counters)
{
    const uint32_t base = REGISTER(COUNTERS);
    counters->cycles =
        get_wide(device, base + (uint32_t)offsetof(carrysave_coprocessor__COUNTERS_t, CYCLES_LO));
    counters->compute =
        get_wide(device, base + (uint32_t)offsetof(carrysave_coprocessor__COUNTERS_t, COMPUTE_LO));
    counters->stall_load = get_wide(
        device, base + (uint32_t)offsetof(carrysave_coprocessor__COUNTERS_t, STALL_LOAD_LO));
    counters->stall_store = get_wide(
        device, base + (uint32_t)offsetof(carrysave_coprocessor__COUNTERS_t, STALL_STORE_LO));
    counters->read_beats = get_wide(
        device, base + (uint32_t)offsetof(carrysave_coprocessor__COUNTERS_t, READ_BEATS_LO));
    counters->write_beats = get_wide(
        device, base + (uint32_t)offsetof(carrysave_coprocessor__COUNTERS_t, WRITE_BEATS_LO));
    counters->macs =
        get_wide(device, base + (uint32_t)offsetof(carrysave_coprocessor__COUNTERS_t, MACS_LO));
}

const char *carrysave_status_text(carrysave_status status)
{
    switch (status) {
    case CARRYSAVE_OK: return "done";
    case CARRYSAVE_NO_DEVICE: return "there is no co-processor at this address";
    case CARRYSAVE_OTHER_ABI: return "the co-processor has another version of the register map";
    case CARRYSAVE_BUSY: return "the co-processor is busy";
    case CARRYSAVE_FAILED: return "a job failed";
    case CARRYSAVE_TIMEOUT: return "jobs did not end in time";
    case CARRYSAVE_LOST: return "the co-processor cannot be reset: memory does not answer";
    case CARRYSAVE_DISTURBED: return "registers were written by something else during the run";
    case CARRYSAVE_BAD_DIMENSION: return "M, N and K must be 1..16777215";
    case CARRYSAVE_BAD_K: return "K must be at most info.k_max, or that of the mode";
    case CARRYSAVE_BAD_MODE: return "the co-processor is built without what the job needs";
    case CARRYSAVE_BAD_ROW: return "lda, ldb and ldc must be at least the bytes of a row";
    case CARRYSAVE_BAD_ADDRESS: return "matrices must end within info.address_width bits";
    case CARRYSAVE_BAD_BLOCK: return "blocks must fit into the stores";
    case CARRYSAVE_BAD_REQUANTISATION: return "a field of the requantisation is out of range";
    case CARRYSAVE_BAD_RING: return "a ring must be one job or more, at a whole beat";
    }
    return "unknown status";
}

#define NAME(code, name, meaning) \
    case code: return name;

const char *carrysave_error_text(uint32_t code)
{
    switch (code) {
        CARRYSAVE_COPROCESSOR__ERROR__CODE_LIST(NAME)
    }
    return "unknown error";
}

const char *carrysave_response_text(uint32_t response)
{
    switch (response) {
        CARRYSAVE_COPROCESSOR__ERROR__RESPONSE_LIST(NAME)
    }
    return "unknown response";
}
