#include <string.h>

#include "carrysave_internal.h"

/* Blocks of a product: the search, its candidates in their order, and what they cost are those
 * of golden/soc/blocking.py. */

typedef struct {
    uint32_t tile_m, tile_n, tile_k, a_bits, b_bits, data_width, outstanding;
    uint32_t a_slices, b_slices, a_words, b_words, rows;
    uint32_t block;  /* words along K that have side bytes, or 0 */
    bool alone;      /* sums stay in the engine: blocks are of one tile */
    uint32_t b_deep; /* of them in one of B */
    uint32_t clock;  /* cycles of the array in one of the bus */
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

static stores stores_of(const carrysave *device, const carrysave_job *job)
{
    const carrysave_info *info = &device->info;
    const words w = words_of(device, job);
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
    s.b_deep = w.b_deep;
    s.clock = info->fast_array ? 2u : 1u;
    s.b_words = info->b_bytes / (s.tile_k / s.b_deep * (b_word / 8u));
    s.rows = info->sums / s.tile_n;
    s.block = job->mode.block ? job->mode.block / job->mode.codes : 0u;
    s.alone = s.block && info->floats;
    return s;
}

static bool fits(const stores *s, uint32_t m, uint32_t n, uint32_t k)
{
    if ((s->alone && (m != 1u || n != 1u)) || (s->block && k % s->block))
        return false;
    return (uint64_t)k * s->tile_k * s->a_bits % 8u == 0
        && (uint64_t)n * s->tile_n * s->b_bits % 8u == 0
        && (uint64_t)m * ceil_div(k, s->a_slices) <= s->a_words
        && (uint64_t)k * ceil_div(n, s->b_slices) <= s->b_words
        && (uint64_t)m * s->tile_m * n <= s->rows;
}

bool carrysave_fits(const carrysave *device, const carrysave_job *job)
{
    const stores s = stores_of(device, job);
    uint32_t beats = job->block_k;

    if (job->of_windows) {
        const uint64_t codes = (uint64_t)job->block_k * job->window.channels;
        beats = codes > UINT32_MAX ? UINT32_MAX : ceil_div((uint32_t)codes, s.tile_k);
    }
    return fits(&s, job->block_m, job->block_n, beats);
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

/* Cycles of a tile of so many beats, whose rows leave one in a cycle. */
static uint64_t tile_cycles(const stores *s, uint32_t depth)
{
    return most(ceil_div(depth, s->clock), s->tile_m + (s->tile_m - 1u) / 8u);
}

/* Beats of `count` rows, each of `length` numbers, read by parts: one in which a part ends and
 * another begins is read twice. */
static uint64_t beats_read(const stores *s, uint32_t count, uint32_t length, uint32_t part,
                           uint32_t bits)
{
    const uint64_t size = (uint64_t)part * bits, inside = ceil_div(length, part) - 1u;
    const uint64_t all = ((uint64_t)length * bits + s->data_width - 1u) / s->data_width;
    uint32_t whole = s->data_width; /* as many parts end with a beat */
    while (whole > 1u && size * (whole / 2u) % s->data_width == 0u)
        whole /= 2u;
    return count * (all + inside - inside / whole);
}

/* Cycles in which they are read: a part takes `fewest` at least. */
static uint64_t beats(const stores *s, uint32_t count, uint32_t length, uint32_t part,
                      uint32_t bits, uint32_t fewest)
{
    const uint64_t parts = ceil_div(length, part);
    return count * most(beats_read(s, 1u, length, part, bits), parts * fewest);
}

static cost cost_of(const stores *s, const carrysave_job *job, uint32_t bits, blocks block)
{
    const uint32_t fewest = ceil_div(64u, s->outstanding); /* cycles of a read, as is supposed */
    const uint32_t m = job->m, n = job->n, k = job->k, deep = ceil_div(k, s->b_deep);
    const uint32_t rows = block.m * s->tile_m, columns = block.n * s->tile_n;
    const uint32_t codes = block.k * s->tile_k;
    const uint32_t ups = ceil_div(m, rows), acrosses = ceil_div(n, columns);
    const bool whole_k = ceil_div(k, codes) == 1u;
    const uint32_t times_a = whole_k && !block.by_columns ? 1u : acrosses;
    const uint32_t times_b = whole_k && block.by_columns ? 1u : ups;
    const uint64_t load = times_a * beats(s, m, k, codes, s->a_bits, fewest)
        + times_b * beats(s, deep, n, columns, s->b_bits, fewest);
    const uint64_t first_a = beats(s, least(m, rows), least(k, codes), codes, s->a_bits, fewest);
    const uint64_t first_b = beats(s, ceil_div(least(k, codes), s->b_deep), least(n, columns),
                                   columns, s->b_bits, fewest);
    const uint64_t last = beats(s, least(m, s->tile_m), least(n, columns), columns, bits, fewest);
    const uint64_t of_c = beats(s, m, n, columns, bits, fewest);
    const uint32_t up = ceil_div(least(m, rows), s->tile_m);
    const uint32_t across = ceil_div(least(n, columns), s->tile_n);
    const uint64_t tiles = (uint64_t)ceil_div(m, s->tile_m) * ceil_div(n, s->tile_n);
    const uint32_t depth = ceil_div(k, s->tile_k), rest = depth % block.k;
    /* Cycles of a tile in the first block of K, in the last one, and in all. */
    const uint64_t step = tile_cycles(s, least(depth, block.k));
    uint64_t final = tile_cycles(s, rest ? rest : block.k);
    uint64_t tile = depth / block.k * tile_cycles(s, block.k) + (rest ? final : 0u);
    uint64_t first, before;
    cost found;

    if (up == 1u && across == 1u)
        tile = final = tile_cycles(s, depth);
    first = first_a + (first_b > step ? first_b - step : 0u);
    before = (whole_k ? across : (uint64_t)up * across) * tile;
    found.cycles = most(tiles * tile + last, before + of_c);
    if (load > first)
        found.cycles = most(found.cycles,
                            load - first + ((uint64_t)up * across - 1u) * final + last);
    found.cycles += first;
    found.read_beats = times_a * beats_read(s, m, k, codes, s->a_bits)
        + times_b * beats_read(s, deep, n, columns, s->b_bits);
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
    bool any;
    blocks best;
    uint64_t price, cycles;
} search;

/* A beat that is read counts as a fiftieth of a cycle. */
static void consider(const stores *s, const carrysave_job *job, uint32_t bits, search *found,
                     uint32_t m, uint32_t n, uint32_t k)
{
    int order;
    for (order = 0; order < 2; order++) {
        blocks block;
        cost its;
        uint64_t price;
        block.m = m;
        block.n = n;
        block.k = k;
        block.by_columns = order != 0;
        its = cost_of(s, job, bits, block);
        price = 50u * its.cycles + its.read_beats;
        if (!found->any || price < found->price
            || (price == found->price && its.cycles < found->cycles)) {
            found->any = true;
            found->best = block;
            found->price = price;
            found->cycles = its.cycles;
        }
    }
}

/* With `group` beats, blocks have as many along K; 0: as many as is best. */
static void consider_all(const stores *s, const carrysave_job *job, uint32_t bits, uint32_t group,
                         search *found)
{
    const uint32_t tiles_m = ceil_div(job->m, s->tile_m), tiles_n = ceil_div(job->n, s->tile_n);
    const uint32_t depth = ceil_div(job->k, s->tile_k);
    const uint32_t grain_n = grain_of(s->tile_n * s->b_bits);
    const uint32_t grain_k = s->block ? s->block : grain_of(s->tile_k * s->a_bits);
    const uint32_t most_m = s->alone ? 1u : s->a_words;
    uint32_t m, n, k;

    for (m = next_size(tiles_m, most_m, 1u, 0u); m; m = next_size(tiles_m, most_m, 1u, m)) {
        const uint32_t most_n = s->alone ? 1u : s->rows / (m * s->tile_m);
        for (n = next_size(tiles_n, most_n, grain_n, 0u); n;
             n = next_size(tiles_n, most_n, grain_n, n)) {
            const uint32_t most_k = most_beats(s, m, n);
            const uint32_t longest = least(most_k, up_to(depth, grain_k));
            if (group) {
                if (longest && fits(s, m, n, group))
                    consider(s, job, bits, found, m, n, group);
                continue;
            }
            if (longest)
                consider(s, job, bits, found, m, n, longest);
            for (k = previous_size(depth, most_k, grain_k, longest);
                 longest && k >= s->tile_m && k;
                 k = previous_size(depth, most_k, grain_k, k))
                consider(s, job, bits, found, m, n, k);
        }
    }
}

static void take(carrysave_job *job, const blocks *best)
{
    job->block_m = best->m;
    job->block_n = best->n;
    job->block_k = best->k;
    job->by_columns = best->by_columns;
}

void carrysave_plan(const carrysave *device, carrysave_job *job)
{
    const stores s = stores_of(device, job);
    const uint32_t bits = carrysave_matrix(device, job, OUT_C).bits;
    carrysave_job of_words = *job;
    search found;

    of_words.k = words_of(device, job).k;
    memset(&found, 0, sizeof found);
    if (job->of_windows)
        return;
    if (device->info.fixed_blocks || job->vector) {
        job->block_m = job->block_n = job->block_k = 0u;
        job->by_columns = false;
        return;
    }
    consider_all(&s, &of_words, bits, 0u, &found);
    take(job, &found.best);
}

carrysave_status carrysave_job_groups(const carrysave *device, carrysave_job *job, uint32_t group)
{
    const stores s = stores_of(device, job);
    const uint32_t beats = group / s.tile_k;
    const carrysave_info *info = &device->info;
    matrix side;
    search found;

    if (!info->group_scales || job->vector || job->of_windows || job->requantise || job->accumulate
        || job->add_bias || job->packed)
        return CARRYSAVE_BAD_MODE;
    if (!beats || group % s.tile_k || (beats & (beats - 1u)))
        return CARRYSAVE_BAD_BLOCK;
    memset(&found, 0, sizeof found);
    consider_all(&s, job, info->sum.bits, beats, &found);
    if (!found.any)
        return CARRYSAVE_BAD_BLOCK;
    take(job, &found.best);
    job->ldsa = job->ldsb = 1u; /* there are scales */
    side = carrysave_matrix(device, job, IN_A_SCALES);
    job->ldsa = whole_beats(device, side);
    side = carrysave_matrix(device, job, IN_B_SCALES);
    job->ldsb = whole_beats(device, side);
    return CARRYSAVE_OK;
}
