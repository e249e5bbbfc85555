#include "carrysave_internal.h"

static matrix matrix_of(uint64_t address, uint32_t rows, uint32_t columns, uint32_t bits,
                        uint32_t distance)
{
    matrix of;
    of.address = address;
    of.rows = rows;
    of.columns = columns;
    of.bits = bits;
    of.distance = distance;
    return of;
}

matrix carrysave_matrix(const carrysave *device, const carrysave_job *job, int which)
{
    const carrysave_info *info = &device->info;
    const uint32_t block = job->mode.block;
    /* In rows of A, of as many bytes as the build's blocks: one at least. */
    const uint32_t octaves = !block && job->ldsa && !job->of_windows && !job->listed;
    const words w = words_of(device, job);
    uint32_t groups = 0u;

    if (job->vector)
        return carrysave_vector_matrix(device, job, which);
    if (carrysave_grouped(device, job) && job->block_k)
        groups = ceil_div(ceil_div(job->k, info->tile_k), job->block_k);
    /* Only the one that is asked for: a small processor takes long for all of them. */
    switch (which) {
    case IN_A:
        if (job->of_windows)
            return carrysave_map(job);
        return matrix_of(job->a, job->m, w.k, w.a_bits, job->lda);
    case IN_B:
        if (job->packed)
            return matrix_of(job->b, 1u, job->ldb, 8u, job->ldb);
        return matrix_of(job->b, w.b_rows, job->n, w.b_bits, job->ldb);
    case OUT_C:
        return matrix_of(job->c, job->m, job->n,
                         !job->requantise        ? info->sum.bits
                             : job->c_bytes > 1u ? 8u * job->c_bytes
                                                 : info->code.bits,
                         job->ldc);
    case IN_BIAS:
        if (job->accumulate)
            return matrix_of(job->bias, job->add_bias, job->m, 8u * CARRYSAVE_FACTOR_BYTES, 0u);
        return matrix_of(job->bias, job->add_bias, job->n, info->sum.bits, 0u);
    case IN_RECORDS:
        return matrix_of(job->records, job->per_column,
                         job->n + job->table * (CARRYSAVE_TABLE_BYTES / CARRYSAVE_RECORD_BYTES),
                         8u * CARRYSAVE_RECORD_BYTES, 0u);
    case IN_A_SCALES:
        if (groups)
            return matrix_of(job->a_scales, groups, job->m, 8u, job->ldsa);
        if (job->listed)
            return matrix_of(job->a_scales, 1u, job->ldsa ? 1u : job->k + 1u, 8u * CARRYSAVE_PLACE_BYTES, 0u);
        if (!block)
            return matrix_of(job->a_scales, octaves ? job->m : 0u, octaves, 8u, job->ldsa);
        return matrix_of(job->a_scales, info->floats ? job->m : 0u,
                         ceil_div(job->k, block), 8u, job->ldsa);
    default:
        if (groups)
            return matrix_of(job->b_scales, groups, job->n, 8u * CARRYSAVE_SCALE_BYTES, job->ldsb);
        if (carrysave_book_bytes(info))
            return matrix_of(job->b_scales, 1u, carrysave_book_bytes(info), 8u, 0u);
        return matrix_of(job->b_scales, block ? ceil_div(job->k, block) : 0u, job->n,
                         8u * (info->floats + job->mode.zeros), job->ldsb);
    }
}
