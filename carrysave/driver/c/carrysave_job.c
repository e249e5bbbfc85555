#include <string.h>

#include "carrysave_internal.h"

/* Bytes of a row of one of a job's matrices, in whole beats. */
static uint32_t row_beats(const carrysave *device, const carrysave_job *job, int which)
{
    return whole_beats(device, carrysave_matrix(device, job, which));
}

void carrysave_job_init_mode(const carrysave *device, carrysave_job *job,
                             const carrysave_mode *mode, uint32_t m, uint32_t n, uint32_t k,
                             bool requantise)
{
    const carrysave_number *code = &device->info.code;

    memset(job, 0, sizeof *job);
    job->mode = *mode;
    job->m = m;
    job->n = n;
    job->k = k;
    job->requantise = requantise;
    job->lda = row_beats(device, job, IN_A);
    job->ldb = row_beats(device, job, IN_B);
    job->ldc = row_beats(device, job, OUT_C);
    if (mode->block) {
        if (device->info.floats)
            job->ldsa = row_beats(device, job, IN_A_SCALES);
        job->ldsb = row_beats(device, job, IN_B_SCALES);
    }
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

bool carrysave_reaches(const carrysave *device, uint64_t address, uint64_t bytes)
{
    const uint32_t width = device->info.address_width;
    const uint64_t last = width >= 64u ? UINT64_MAX : ((uint64_t)1 << width) - 1u;
    return address <= last && bytes - 1u <= last - address
        && carrysave_on_chip(device, address) == carrysave_on_chip(device, address + (bytes - 1u));
}

bool carrysave_on_chip(const carrysave *device, uint64_t address)
{
    return device->info.scratch && address >= device->info.scratch_base;
}

static bool in_range(const carrysave_number *number, int64_t value)
{
    const int64_t half = (int64_t)1 << (number->width - 1u);
    return number->is_signed ? value >= -half && value < half : value >= 0 && value < 2 * half;
}

static bool can_requantise(const carrysave *device, const carrysave_job *job)
{
    carrysave_number made, *const code = &made;

    made = device->info.code;
    if (job->vector) {
        made.width = device->info.vector.out_width;
        made.is_signed = true;
        if ((job->c_bytes == 1u && made.width > 8u) || carrysave_is_map(job->vector)
            || job->vector == CARRYSAVE_DEPTHWISE)
            made.width = 8u;
        else if (job->vector == CARRYSAVE_BLEND)
            made.width = made.width > 8u ? 16u : 8u;
    } else if (job->c_bytes > 1u) {
        made.width = 8u * job->c_bytes;
    }
    if (!in_range(code, job->low) || !in_range(code, job->high) || job->low > job->high)
        return false;
    if (job->per_column)
        return true;
    return job->multiplier <= MASK(JOB__MULTIPLIER__VALUE)
        && job->shift <= MASK(JOB__SHIFT__VALUE) && in_range(code, job->zero_point)
        && (!job->relu || job->zero_point <= job->high);
}

/* Whether groups are blocks along K of 2^i beats, with nothing that is of integer sums. */
static bool can_group(const carrysave_job *job)
{
    return job->block_m && job->block_n && job->block_k && !(job->block_k & (job->block_k - 1u))
        && !job->requantise && !job->accumulate && !job->add_bias && !job->packed;
}

/* Whether the device has what a job asks for. */
static bool has(const carrysave *device, const carrysave_job *job)
{
    const carrysave_info *info = &device->info;
    const carrysave_mode *mode = &job->mode;

    if (carrysave_grouped(device, job) && !can_group(job))
        return false;

    if ((job->requantise && !info->requantiser)
        || (job->add_bias && !(job->accumulate ? info->row_factors : info->bias))
        || (job->per_column && (!info->per_column || !job->requantise))
        || (job->accumulate && (!info->accumulate || job->requantise)))
        return false;
    if (job->table && (!info->table || !job->per_column || job->c_bytes > 1u))
        return false;
    if (job->packed && (!info->sparse || !job->ldb))
        return false;
    if (job->listed && (!info->lists || job->packed || (job->ldsa && !info->top_k)))
        return false;
    if (job->ldsa && !job->of_windows && !job->listed && !mode->block && !info->shares
        && !carrysave_grouped(device, job))
        return false;
    if (job->c_bytes && (!info->sizes || !job->requantise || job->c_bytes > 2u))
        return false;
    if (info->fixed_blocks && (job->block_m || job->block_n || job->block_k || job->by_columns))
        return false;
    if (info->scales != (mode->block != 0) || (mode->block && !mode->codes))
        return false;
    if ((info->formats || info->scales) && !mode->codes)
        return false;
    if (mode->zeros > 1u || (mode->block && !info->floats && !mode->zeros)
        || (mode->zeros && !mode->block))
        return false;
    return mode->codes * mode->a_bits <= info->a.bits && mode->codes * mode->b_bits <= info->b.bits
        && mode->a_format <= MASK(JOB__MODE__A_FORMAT)
        && mode->b_format <= MASK(JOB__MODE__B_FORMAT) >> SHIFT(JOB__MODE__B_FORMAT);
}

carrysave_status carrysave_check(const carrysave *device, const carrysave_job *job)
{
    const carrysave_info *info = &device->info;
    const carrysave_mode *mode = &job->mode;
    const uint32_t top = ((uint32_t)1 << info->dimension_width) - 1u;
    const bool depthwise = job->vector == CARRYSAVE_DEPTHWISE;
    const bool unsized = job->of_windows && info->windows
        && carrysave_check_sizes(&job->window) != CARRYSAVE_OK;
    bool reaches = true;
    int which;

    if (!job->m || !job->n || job->m > top || job->n > top)
        return CARRYSAVE_BAD_DIMENSION;
    if (job->vector) {
        const bool ranks = job->vector == CARRYSAVE_TOP_K;

        if ((job->vector == CARRYSAVE_GATHER || ranks || depthwise)
            && carrysave_vector_most(device, job->vector) && (!job->k || job->k > top))
            return CARRYSAVE_BAD_DIMENSION;
        if (unsized)
            return CARRYSAVE_BAD_DIMENSION;
        if (!carrysave_vector_has(device, job))
            return CARRYSAVE_BAD_MODE;
        if (depthwise && carrysave_check_channels(device, job) != CARRYSAVE_OK)
            return carrysave_check_channels(device, job);
        if (ranks && (job->k > info->top_k || job->k > job->n))
            return CARRYSAVE_BAD_K;
        if (job->n > carrysave_vector_most(device, job->vector))
            return CARRYSAVE_BAD_LENGTH;
    } else {
        if (!job->k || job->k > top || unsized)
            return CARRYSAVE_BAD_DIMENSION;
        if (job->of_windows && !info->windows)
            return CARRYSAVE_BAD_MODE;
        if (job->k > (mode->codes ? mode->k_max : info->k_max)
            || (job->listed && !job->ldsa && info->lists && job->k > info->lists))
            return CARRYSAVE_BAD_K;
        if (!has(device, job))
            return CARRYSAVE_BAD_MODE;
    }
    if (job->of_windows && carrysave_check_window(job) != CARRYSAVE_OK)
        return carrysave_check_window(job);
    for (which = 0; which < MATRICES; which++) {
        const matrix found = carrysave_matrix(device, job, which);
        const bool one = which == IN_BIAS || which == IN_RECORDS
            || (which == IN_B_SCALES && carrysave_book_bytes(info))
            || (which == IN_A_SCALES && job->listed)
            || (which == IN_B && (depthwise || (job->vector && !job->ldb)));
        if (found.rows && !one && found.distance < row_bytes(&found))
            return CARRYSAVE_BAD_ROW;
        if (reaches && found.rows && !info->stream)
            reaches = carrysave_reaches(device, found.address, extent(&found));
    }
    if (!reaches)
        return CARRYSAVE_BAD_ADDRESS;
    if (depthwise && !carrysave_depthwise_fits(device, job))
        return CARRYSAVE_BAD_BLOCK;
    if (job->block_m && job->block_n && job->block_k ? !carrysave_fits(device, job)
                                                     : job->of_windows && !depthwise)
        return CARRYSAVE_BAD_BLOCK;
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

/* The header of a build whose jobs do not choose does not have the field. */
static uint32_t bytes_mode(const carrysave_job *job)
{
#ifdef CARRYSAVE_COPROCESSOR__JOB__MODE__C_BYTES_bm
    return job->c_bytes << SHIFT(JOB__MODE__C_BYTES);
#else
    (void)job;
    return 0u;
#endif
}

/* Whether a product has a list; the fifth bit of an operation. */
static uint32_t listed_mode(const carrysave_job *job)
{
#ifdef CARRYSAVE_COPROCESSOR__JOB__MODE__LISTED_bm
    return (uint32_t)(job->listed || job->vector >> 4) << SHIFT(JOB__MODE__LISTED);
#else
    (void)job;
    return 0u;
#endif
}

/* Whether B is packed, in a device that can have that. */
static uint32_t packed_mode(const carrysave_job *job)
{
#ifdef CARRYSAVE_COPROCESSOR__JOB__MODE__PACKED_bm
    return (uint32_t)job->packed << SHIFT(JOB__MODE__PACKED);
#else
    (void)job;
    return 0u;
#endif
}

void carrysave_describe(const carrysave_job *job, uint8_t descriptor[CARRYSAVE_DESCRIPTOR_BYTES])
{
    uint32_t mode = job->mode.a_format << SHIFT(JOB__MODE__A_FORMAT)
        | job->mode.b_format << SHIFT(JOB__MODE__B_FORMAT)
        | (uint32_t)job->requantise << SHIFT(JOB__MODE__REQUANTISE)
        | (uint32_t)job->add_bias << SHIFT(JOB__MODE__BIAS)
        | (uint32_t)job->per_column << SHIFT(JOB__MODE__PER_COLUMN)
        | (uint32_t)job->accumulate << SHIFT(JOB__MODE__ACCUMULATE)
        | (uint32_t)job->by_columns << SHIFT(JOB__MODE__ORDER)
        | (uint32_t)job->table << SHIFT(JOB__MODE__TABLE) | bytes_mode(job) | packed_mode(job)
        | listed_mode(job)
        | carrysave_vector_mode(job) | carrysave_window_mode(job);
    uint32_t window[4], number;

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
    store_wide(descriptor + JOB(A_SCALES_LO), job->a_scales);
    store_wide(descriptor + JOB(B_SCALES_LO), job->b_scales);
    store(descriptor + JOB(LDSA), job->ldsa);
    store(descriptor + JOB(LDSB), job->ldsb);
    if (job->of_windows) {
        carrysave_window_words(&job->window, window);
        for (number = 0; number < 4u; number++)
            store(descriptor + JOB(A_SCALES_LO) + 4u * number, window[number]);
        store(descriptor + JOB(LDSA), job->window.pixel);
    }
    if (carrysave_is_map(job->vector)) {
        store(descriptor + JOB(LDSA), carrysave_map_word(job, 0));
        store(descriptor + JOB(LDSB), carrysave_map_word(job, 1));
    }
    if (job->requantise) {
        mode |= (uint32_t)job->relu << SHIFT(JOB__MODE__RELU);
        store(descriptor + JOB(LOW), (uint32_t)job->low & MASK(JOB__LOW__VALUE));
        store(descriptor + JOB(HIGH), (uint32_t)job->high & MASK(JOB__HIGH__VALUE));
        if (job->per_column || job->table)
            store_wide(descriptor + JOB(REQUANT_LO), job->records);
        if (!job->per_column) {
            store(descriptor + JOB(MULTIPLIER), job->multiplier);
            store(descriptor + JOB(SHIFT), job->shift);
            store(descriptor + JOB(ZERO_POINT),
                  (uint32_t)job->zero_point & MASK(JOB__ZERO_POINT__VALUE));
        }
    }
    if (job->vector == CARRYSAVE_INDEX)
        store(descriptor + JOB(LOW), (uint32_t)job->low & MASK(JOB__LOW__VALUE));
    store(descriptor + JOB(MODE), mode);
    store(descriptor + JOB(BLOCK_M), job->block_m);
    store(descriptor + JOB(BLOCK_N), job->block_n);
    store(descriptor + JOB(BLOCK_K), job->block_k);
}

/* Jobs that the device may have under way besides one. */
#define AHEAD 3u
#define MOST_ALIKE 0xFFFFu

static bool overlap(const matrix *one, const matrix *other)
{
    return one->rows && other->rows && one->address < other->address + extent(other)
        && other->address < one->address + extent(one);
}

/* Whether a job reads what another one writes. */
static bool reads(const carrysave *device, const carrysave_job *job, const carrysave_job *writer)
{
    const matrix written = carrysave_matrix(device, writer, OUT_C);
    int which;

    for (which = 0; which < MATRICES; which++) {
        matrix found = carrysave_matrix(device, job, which);
        if (which == IN_B && job->listed && job->ldsa) {
            /* Any of those among which a place chooses. */
            found.columns = (uint32_t)extent(&found);
            found.bits = 8u;
            found.rows = job->ldsb;
            found.distance = job->ldsa;
        }
        if ((which != OUT_C || job->accumulate) && overlap(&found, &written))
            return true;
    }
    return false;
}

void carrysave_mark_alike(const carrysave *device, const carrysave_job *jobs, uint32_t count,
                          uint8_t *ring)
{
    uint32_t first = 0, number;

    for (number = 1; number <= count; number++) {
        const uint8_t *leader = ring + (size_t)first * CARRYSAVE_DESCRIPTOR_BYTES;
        const uint8_t *next = ring + (size_t)number * CARRYSAVE_DESCRIPTOR_BYTES;
        /* Windows are where addresses of scales would be. */
        const uint32_t same = jobs[first].of_windows ? JOB(A_SCALES_LO) : JOB(M);
        bool alike = number < count && number - first <= MOST_ALIKE
            && !memcmp(leader + same, next + same, CARRYSAVE_DESCRIPTOR_BYTES - same);
        uint32_t before;

        for (before = number; alike && before > first && number - before < AHEAD; before--)
            alike = !reads(device, &jobs[number], &jobs[before - 1u])
                && !reads(device, &jobs[before - 1u], &jobs[number]);
        if (alike)
            continue;
        store(ring + (size_t)first * CARRYSAVE_DESCRIPTOR_BYTES + JOB(ALIKE), number - first - 1u);
        first = number;
    }
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

/* Which of two weights are not 0, and their signs, which 3 bits hold unless both are 0. */
static uint32_t pair_of(const int8_t weights[2])
{
    const uint32_t sign = (weights[0] ? weights[0] : weights[1]) < 0;
    const uint32_t kind = !weights[1] ? 0u : !weights[0] ? 1u : 2u + (weights[1] < 0);
    return sign << 2 | kind;
}

uint8_t carrysave_trits(const int8_t weights[CARRYSAVE_TRITS])
{
    const uint32_t first = (uint32_t)weights[0] & 3u;
    const bool next = weights[1] || weights[2], last = weights[3] || weights[4];

    if (next && last)
        return (uint8_t)(first << 6 | pair_of(weights + 1) << 3 | pair_of(weights + 3));
    if (last)
        return (uint8_t)(0x80u | first << 3 | pair_of(weights + 3));
    if (next)
        return (uint8_t)(0xA0u | first << 3 | pair_of(weights + 1));
    return (uint8_t)(0x90u | first);
}
