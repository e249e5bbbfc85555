#include "carrysave_internal.h"

/* What the registers of a device can say. What one divides by or shifts by is bounded above all: a
 * broken bus gives any number. */

#define MOST_STORE 0x10000000u /* bytes, or sums, on chip */
#define MOST_TILE 0xFFFFFFu
#define MOST_DIMENSION 24u
#define LEAST_SCRATCH 12u

static bool within(uint32_t value, uint32_t low, uint32_t high)
{
    return value >= low && value <= high;
}

static bool is_power(uint32_t value)
{
    return value && !(value & (value - 1u));
}

static bool is_number(const carrysave_number *number, uint32_t most)
{
    return within(number->width, 1u, number->bits) && number->width <= most;
}

/* Whether a store holds a tile or more, whose words are of `numbers` numbers of so many bits; then
 * no product of these is beyond 32 bits. */
static bool holds(uint32_t bytes, uint32_t words, uint32_t numbers, uint32_t bits, uint32_t beat)
{
    const uint64_t slice = (uint64_t)numbers * bits;
    uint64_t word = slice;

    while (word < beat || word % 8u)
        word *= 2u;
    return word <= UINT32_MAX && word / 8u * words <= bytes;
}

bool carrysave_is_sensible(const carrysave *device, uint32_t sum_bytes, uint32_t scratch,
                           bool has_vector)
{
    const carrysave_info *info = &device->info;
    const carrysave_vector_unit *unit = &info->vector;
    const uint32_t deep = info->b_deep;
    static const uint8_t code_bits[] = {0, 4, 1, 2, 64, 4, 64, 64};

    if (!within(info->tile_m, 1u, MOST_TILE) || !within(info->tile_n, 1u, MOST_TILE)
        || !within(info->tile_k, 1u, MOST_TILE) || info->tile_k % deep)
        return false;
    if (!is_power(info->data_width) || !within(info->data_width, 8u, 4096u)
        || !within(info->address_width, 1u, 64u) || !within(info->outstanding, 1u, 0xFFFFu)
        || !within(info->dimension_width, 8u, MOST_DIMENSION) || !info->k_max)
        return false;
    if (!is_power(info->a.bits) || info->a.bits > 128u || !is_power(info->b.bits)
        || info->b.bits > 128u || !within(sum_bytes, 1u, 64u) || !within(info->code.bits, 1u, 128u))
        return false;
    if (!is_number(&info->a, 128u) || !is_number(&info->b, 128u) || !is_number(&info->code, 31u)
        || (!info->scales && !is_number(&info->sum, 512u)))
        return false;
    if (!within(info->sums, info->tile_n, MOST_STORE) || info->a_bytes > MOST_STORE || info->b_bytes > MOST_STORE
        || !holds(info->a_bytes, info->tile_m, info->tile_k, info->a.bits, info->data_width)
        || !holds(info->b_bytes, info->tile_k / deep, info->tile_n, info->b.bits,
                  info->data_width))
        return false;
    if (info->group_scales > 2u || (info->group_scales && info->sum.bits != 32u))
        return false;
    if (info->requantiser && (uint32_t)info->rounding > CARRYSAVE_ROUND_EVEN)
        return false;
    if ((uint32_t)info->codebook > CARRYSAVE_CODEBOOK_MASKS_2_4 || (info->codebook && info->trits)
        || (info->codebook && info->b.bits != code_bits[info->codebook])
        || (info->trits && info->b.bits != 8u)
        || (info->mirrored && info->codebook != CARRYSAVE_CODEBOOK_JOB16))
        return false;
    if (scratch && (!within(scratch, LEAST_SCRATCH, 31u) || scratch >= info->address_width))
        return false;
    return !has_vector
        || (within(unit->width, 1u, 16u) && within(unit->out_width, 1u, 16u)
            && within(unit->length, 1u, 1u << 24));
}
