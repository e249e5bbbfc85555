#include <string.h>

#include "carrysave_internal.h"

#define INDEX_BYTES 4u
#define FACTOR_BITS 24u

bool carrysave_is_map(uint32_t operation)
{
    return operation >= CARRYSAVE_MAP_ADD && operation <= CARRYSAVE_MAP_MAX;
}

uint32_t carrysave_map_word(const carrysave_job *job, int which)
{
    return ((uint32_t)job->factors[which] & ((1u << FACTOR_BITS) - 1u))
        | (uint32_t)job->zeros[which] << FACTOR_BITS;
}

void carrysave_read_map(uint32_t word, carrysave_job *job, int which)
{
    const int32_t zero = (int32_t)(word >> FACTOR_BITS), sign = 1 << (FACTOR_BITS - 1u);

    job->zeros[which] = zero < 128 ? zero : zero - 256;
    job->factors[which] = ((int32_t)(word & ((1u << FACTOR_BITS) - 1u)) ^ sign) - sign;
}

static bool is_pair(uint32_t operation)
{
    return operation == CARRYSAVE_ADD || operation == CARRYSAVE_MULTIPLY;
}

static bool is_scaled(uint32_t operation)
{
    return operation == CARRYSAVE_GELU || operation == CARRYSAVE_SILU
        || operation == CARRYSAVE_SIGMOID || operation == CARRYSAVE_BLEND
        || operation == CARRYSAVE_SCALE || operation == CARRYSAVE_DEPTHWISE || is_pair(operation)
        || carrysave_is_map(operation);
}

static bool takes_rows_of_b(uint32_t operation)
{
    return is_pair(operation) || carrysave_is_map(operation) || operation == CARRYSAVE_BLEND;
}

/* The header of a build without a vector unit does not have its fields. */
#ifdef CARRYSAVE_COPROCESSOR__VECTOR__VALUE_bm

/* Whether a job makes codes of two bytes. */
static bool is_wide(const carrysave *device, const carrysave_job *job)
{
    return device->info.vector.out_width > 8u && job->c_bytes != 1u
        && !carrysave_is_map(job->vector) && job->vector != CARRYSAVE_DEPTHWISE;
}

static bool fits(int32_t value, uint32_t bits)
{
    const int32_t half = (int32_t)1 << (bits - 1u);
    return value >= -half && value < half;
}

/* Whether factors and zero points fit, so that no sum is too wide. */
static bool has_maps(const carrysave *device, const carrysave_job *job)
{
    const uint32_t sums = device->info.sum.width - 9u;
    const uint32_t bits = sums < FACTOR_BITS ? sums : FACTOR_BITS;
    int which;

    for (which = 0; which < 2; which++)
        if (!fits(job->factors[which], bits) || !fits(job->zeros[which], 8u))
            return false;
    return !job->mode.a_format && job->c_bytes <= 1u && !job->relu;
}

static bool makes_lists(uint32_t operation)
{
    return operation == CARRYSAVE_INDEX || operation == CARRYSAVE_TOP_K;
}

/* Whether the driver has an operation, if the device does. */
static bool is_known(uint32_t operation)
{
    return (operation && operation <= CARRYSAVE_EXPS) || operation == CARRYSAVE_SIGMOID
        || operation == CARRYSAVE_BLEND || makes_lists(operation);
}

uint32_t carrysave_vector_most(const carrysave *device, uint32_t operation)
{
    const carrysave_vector_unit *unit = &device->info.vector;
    uint64_t most = 1u;
    uint32_t beats;

    if (!is_known(operation) || !(unit->operations >> (operation - 1u) & 1u))
        return 0u;
    if (makes_lists(operation))
        return device->info.lists;
    if (operation == CARRYSAVE_TRANSPOSE)
        return INT32_MAX;
    if (!is_pair(operation) || !unit->lanes)
        return unit->length;
    /* Rows of two operands share a bank: of beats, the greatest power of two below the longest. */
    beats = ceil_div(unit->length, unit->lanes);
    while (2u * most < beats)
        most *= 2u;
    most *= unit->lanes;
    return most < unit->length ? (uint32_t)most : unit->length;
}

matrix carrysave_vector_matrix(const carrysave *device, const carrysave_job *job, int which)
{
    const bool scale = job->vector == CARRYSAVE_SCALE;
    const bool gather = job->vector == CARRYSAVE_GATHER;
    matrix of;

    if (job->vector == CARRYSAVE_DEPTHWISE && which == IN_A)
        return carrysave_map(job);
    memset(&of, 0, sizeof of);
    of.columns = job->n;
    of.bits = 8u * (job->mode.a_format + 1u);
    switch (which) {
    case IN_A:
        of.address = job->a;
        of.rows = gather ? job->k : job->m;
        of.distance = job->lda;
        break;
    case IN_B:
        of.address = job->b;
        of.rows = scale || gather || takes_rows_of_b(job->vector) ? (job->ldb ? job->m : 1u) : 0u;
        of.distance = job->ldb;
        if (job->vector == CARRYSAVE_DEPTHWISE) {
            of.rows = 1u;
            of.columns = job->k;
        }
        if (job->vector == CARRYSAVE_BLEND)
            of.columns = 2u * job->n;
        if (scale || gather) {
            of.columns = 1u;
            of.bits = scale ? 8u : 8u * INDEX_BYTES;
        }
        break;
    case OUT_C:
        of.address = job->c;
        of.rows = job->m;
        of.columns = job->n + (job->vector == CARRYSAVE_SOFTMAX);
        of.bits = is_wide(device, job) ? 16u : 8u;
        of.distance = job->ldc;
        if (job->vector == CARRYSAVE_EXPS && !job->requantise) {
            /* As many exponents as the build's blocks: one at least, and no row is longer. */
            const uint32_t lanes = device->info.vector.lanes, row = 8u * job->ldc / of.bits;

            of.columns = lanes * ceil_div(job->n, lanes) + 1u;
            of.columns = row > of.columns ? row : of.columns;
        }
        if (job->vector == CARRYSAVE_INDEX) {
            of.columns = job->n + 1u;
            of.bits = 8u * CARRYSAVE_PLACE_BYTES;
        }
        if (job->vector == CARRYSAVE_TOP_K) {
            of.columns = (job->k + 1u) * CARRYSAVE_PLACE_BYTES + job->k * (job->mode.a_format + 1u);
            of.bits = 8u;
        }
        if (job->vector == CARRYSAVE_TRANSPOSE) {
            of.rows = job->n;
            of.columns = job->m;
            of.bits = 8u;
        }
        break;
    case IN_BIAS:
        of.address = job->bias;
        of.rows = job->add_bias;
        of.bits = device->info.sum.bits;
        break;
    case IN_RECORDS:
        of.address = job->records;
        of.rows = job->per_column || job->table;
        of.columns = (job->per_column ? job->n * CARRYSAVE_RECORD_BYTES : 0u)
            + (job->table ? CARRYSAVE_TABLE_BYTES : 0u);
        of.bits = 8u;
        break;
    default:
        break;
    }
    return of;
}

bool carrysave_vector_has(const carrysave *device, const carrysave_job *job)
{
    const carrysave_vector_unit *unit = &device->info.vector;
    const carrysave_mode *mode = &job->mode;
    const bool depthwise = job->vector == CARRYSAVE_DEPTHWISE;

    if (!carrysave_vector_most(device, job->vector) || mode->a_format > (unit->width > 8u))
        return false;
    if (job->of_windows != depthwise || mode->b_format || mode->codes || mode->block
        || (job->add_bias && !(depthwise && device->info.bias))
        || (job->per_column && !(depthwise && device->info.per_column)) || job->accumulate
        || job->packed || job->listed || job->by_columns || job->block_m || job->block_n || job->block_k)
        return false;
    if ((job->requantise != is_scaled(job->vector) && job->vector != CARRYSAVE_EXPS)
        || (job->table && !(device->info.table && (carrysave_is_map(job->vector) || job->per_column))))
        return false;
    if (job->c_bytes
        && (!device->info.sizes || job->c_bytes > (unit->out_width > 8u ? 2u : 1u)
            || (job->c_bytes == 1u && unit->out_width > 8u && !job->requantise
                && job->vector != CARRYSAVE_SOFTMAX && job->vector != CARRYSAVE_EXPS
                && job->vector != CARRYSAVE_TRANSPOSE
                && job->vector != CARRYSAVE_GATHER)))
        return false;
    if (makes_lists(job->vector))
        return !job->c_bytes && !job->relu;
    if (job->vector == CARRYSAVE_BLEND)
        return !job->relu && job->shift < 16u;
    if (depthwise)
        return !mode->a_format && job->c_bytes <= 1u;
    if (carrysave_is_map(job->vector))
        return has_maps(device, job);
    if (job->vector == CARRYSAVE_GATHER && mode->a_format != is_wide(device, job))
        return false;
    if (job->vector == CARRYSAVE_TRANSPOSE
        && (mode->a_format || (unit->out_width > 8u && job->c_bytes != 1u)))
        return false;
    return !job->requantise
        || (!job->relu && !((uint64_t)job->multiplier >> (unit->out_width + 4u)));
}

uint32_t carrysave_vector_mode(const carrysave_job *job)
{
    return (job->vector & 15u) << SHIFT(JOB__MODE__VECTOR);
}

#else

uint32_t carrysave_vector_most(const carrysave *device, uint32_t operation)
{
    (void)device;
    (void)operation;
    return 0u;
}

matrix carrysave_vector_matrix(const carrysave *device, const carrysave_job *job, int which)
{
    matrix none;
    (void)device;
    (void)job;
    (void)which;
    memset(&none, 0, sizeof none);
    return none;
}

bool carrysave_vector_has(const carrysave *device, const carrysave_job *job)
{
    (void)device;
    (void)job;
    return false;
}

uint32_t carrysave_vector_mode(const carrysave_job *job)
{
    (void)job;
    return 0u;
}

#endif

void carrysave_job_init_vector(const carrysave *device, carrysave_job *job, uint32_t operation,
                               uint32_t m, uint32_t n, uint32_t bytes)
{
    const bool bytes_only = carrysave_is_map(operation) || operation == CARRYSAVE_DEPTHWISE;
    const uint32_t width = bytes_only ? 8u : device->info.vector.out_width;

    memset(job, 0, sizeof *job);
    job->vector = operation;
    job->mode.a_format = bytes - 1u;
    job->m = m;
    job->n = n;
    if (operation == CARRYSAVE_TOP_K)
        job->k = n < device->info.top_k ? n : device->info.top_k;
    if ((operation == CARRYSAVE_TRANSPOSE || (operation == CARRYSAVE_GATHER && bytes == 1u))
        && width > 8u)
        job->c_bytes = 1u;
    job->lda = whole_beats(device, carrysave_vector_matrix(device, job, IN_A));
    job->ldb = takes_rows_of_b(operation) ? job->lda : 0u;
    if (operation == CARRYSAVE_SCALE || operation == CARRYSAVE_BLEND)
        job->ldb = whole_beats(device, carrysave_vector_matrix(device, job, IN_B));
    if (operation == CARRYSAVE_GATHER)
        job->ldb = INDEX_BYTES;
    job->ldc = whole_beats(device, carrysave_vector_matrix(device, job, OUT_C));
    job->requantise = is_scaled(operation);
    if (job->requantise && width) {
        job->low = -(int32_t)(1u << (width - 1u));
        job->high = (int32_t)((1u << (width - 1u)) - 1u);
    }
}
