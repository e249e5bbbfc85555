#include "carrysave_program.h"

#include <string.h>

#include "carrysave_internal.h"

#ifdef CARRYSAVE_CONFIG
#include CARRYSAVE_CONFIG
#endif
#ifndef CARRYSAVE_FLOATS
#define CARRYSAVE_FLOATS 1
#endif

/* Called before each step with its kind, and with 0 behind the last one. */
#ifndef CARRYSAVE_STEP
#define CARRYSAVE_STEP(device, kind) ((void)(device))
#endif

/* Whether one call of CARRYSAVE_INVALIDATE drops all that caches hold. */
#ifndef CARRYSAVE_DROPS_ALL
#define CARRYSAVE_DROPS_ALL 0
#endif

enum { MOVE = 1, START = 2, FLOATS = 3, RING = 4 };
enum { JOB_WORDS = 34, HEAD_WORDS = 6, PARAMETER_WORDS = 5, RING_WORDS = 9, ADDRESSES = 5 };
enum { ADD_BIAS = 1, REQUANTISE = 2, PER_COLUMN = 4, BY_COLUMNS = 8, ACCUMULATE = 16, RELU = 32, WINDOW = 64,
       TABLE = 128, PACKED = 256, LISTED = 512, GROUPED = 1024 };

/* The bit of MODE, in a device that can have lists. */
#ifdef CARRYSAVE_COPROCESSOR__JOB__MODE__LISTED_bm
#define LISTED_MODE MASK(JOB__MODE__LISTED)
#else
#define LISTED_MODE 0u
#endif

/* First address on chip. */
#define CHIP 0x80000000u

typedef struct {
    carrysave *device;
    uint8_t *memory;
    uint64_t base;
    uint32_t ring;
    carrysave_wait_function wait;
    void *argument;
    carrysave_job jobs[CARRYSAVE_PROGRAM_JOBS];
} machine;

/* Bytes of a source: from an address on; or, below 0, one of a code less 256, again and again. */
typedef struct {
    const uint8_t *from;
    uint32_t step;
    uint8_t constant;
} source;

static void point(source *of, const uint8_t *memory, int32_t number, uint32_t further)
{
    of->constant = (uint8_t)(number + 256);
    of->from = number < 0 ? &of->constant : memory + ((uint32_t)number + further);
    of->step = number >= 0;
}

static void copy(uint8_t *to, const source *of, uint32_t count)
{
    const uint8_t *from = of->from;

    if (of->step && (((uintptr_t)to | (uintptr_t)from) & 3u) == 0) {
        uint32_t *put = (uint32_t *)(void *)to;
        const uint32_t *get = (const uint32_t *)(const void *)from;
        for (; count >= 4; count -= 4)
            *put++ = *get++;
        to = (uint8_t *)put;
        from = (const uint8_t *)get;
    }
    for (; count; count--, from += of->step)
        *to++ = *from;
}

static void raise(uint8_t *to, const source *of, uint32_t count)
{
    const int8_t *from = (const int8_t *)of->from;

    for (; count; count--, to++, from += of->step)
        if (*from > *(int8_t *)to)
            *to = (uint8_t)*from;
}

/* What a move takes, and how far addresses of the first source and of the others are on. */
typedef struct {
    const uint8_t *memory, *table;
    uint32_t taps, first, others;
} moved;

/* Make the bytes of a record; return the place behind them. */
static uint8_t *make(const moved *of, uint8_t *to, const int32_t *record)
{
    const uint32_t count = (uint32_t)record[0];
    source one, other;
    uint32_t tap, left;

    point(&one, of->memory, record[1], of->first);
    if (!of->table) {
        copy(to, &one, count);
        for (tap = 1; tap < of->taps; tap++) {
            point(&other, of->memory, record[1 + tap], of->others);
            raise(to, &other, count);
        }
        return to + count;
    }
    if (of->taps == 1) {
        for (left = count; left; left--, one.from += one.step)
            *to++ = of->table[*one.from];
        return to;
    }
    point(&other, of->memory, record[2], of->others);
    for (left = count; left; left--, one.from += one.step, other.from += other.step)
        *to++ = of->table[256u * *one.from + *other.from];
    return to;
}

/* Go through records and loops. */
static uint8_t *play(moved *of, uint8_t *to, const int32_t *word, const int32_t *end)
{
    while (word < end) {
        const uint32_t first = of->first, others = of->others;
        const int32_t *body = word + 4;
        int32_t again;

        if (word[0] > 0) {
            to = make(of, to, word);
            word += 1 + of->taps;
            continue;
        }
        for (again = word[0]; again; again++) {
            to = play(of, to, body, body + word[1]);
            of->first += (uint32_t)word[2];
            of->others += (uint32_t)word[3];
        }
        of->first = first;
        of->others = others;
        word = body + word[1];
    }
    return to;
}

static const uint32_t *move(const machine *of, const uint32_t *word)
{
    const int32_t *first = (const int32_t *)(const void *)(of->memory + word[1]);
    moved what;

    what.memory = of->memory;
    what.table = word[4] ? of->memory + word[4] : 0;
    what.taps = word[3];
    what.first = what.others = 0;
    play(&what, of->memory + word[0], first, first + word[2]);
    return word + 5;
}

static uint64_t address(const machine *of, uint32_t word)
{
    return word & CHIP ? of->device->info.scratch_base + (word & ~CHIP) : of->base + word;
}

/* Describe a job of a group: addresses go on by as much from each to the next. */
static void describe(const machine *of, const uint32_t *word, uint32_t number, carrysave_job *job)
{
    const uint32_t flags = word[11], *next = word + 24;

    memset(job, 0, sizeof *job);
    job->a = address(of, word[0] + number * next[0]);
    job->b = address(of, word[1] + number * next[1]);
    job->c = address(of, word[2] + number * next[2]);
    job->bias = address(of, word[3] + number * next[3]);
    job->records = address(of, word[4] + number * next[4]);
    job->m = word[5];
    job->n = word[6];
    job->k = word[7];
    job->lda = word[8];
    job->ldb = word[9];
    job->ldc = word[10];
    job->add_bias = (flags & ADD_BIAS) != 0;
    job->requantise = (flags & REQUANTISE) != 0;
    job->per_column = (flags & PER_COLUMN) != 0;
    job->by_columns = (flags & BY_COLUMNS) != 0;
    job->accumulate = (flags & ACCUMULATE) != 0;
    job->relu = (flags & RELU) != 0;
    job->table = (flags & TABLE) != 0;
    job->packed = (flags & PACKED) != 0;
    job->multiplier = word[12];
    job->shift = word[13];
    job->zero_point = (int32_t)word[14];
    job->low = (int32_t)word[15];
    job->high = (int32_t)word[16];
    job->block_m = word[17];
    job->block_n = word[18];
    job->block_k = word[19];
    job->mode.a_format = word[20];
    job->c_bytes = word[21];
    job->vector = word[22];
    job->of_windows = (flags & WINDOW) != 0;
    if (job->of_windows)
        carrysave_read_window(word + 29, &job->window);
    if (flags & LISTED) {
        /* A list, or a fifth bit of the operation; an index has the least magnitude. */
        job->listed = !job->vector;
        job->vector += job->vector ? 16u : 0u;
        job->a_scales = job->listed ? address(of, word[29]) : 0u;
        job->ldsa = job->listed ? word[31] : 0u;
        job->ldsb = job->listed ? word[32] : 0u;
        if (job->vector == CARRYSAVE_INDEX)
            job->low = (int32_t)word[30];
    } else if (flags & GROUPED) {
        job->a_scales = address(of, word[29]);
        job->ldsa = word[30];
        job->b_scales = address(of, word[31]);
        job->ldsb = word[32];
    } else if (!job->vector && !job->of_windows && word[30]) {
        job->a_scales = job->a + word[29];
        job->ldsa = word[30];
    }
    if (carrysave_is_map(job->vector)) {
        carrysave_read_map(word[29], job, 0);
        carrysave_read_map(word[30], job, 1);
    }
}

/* Change words by the parameters whose value is not the one that is wanted. */
static carrysave_status set_parameters(uint8_t *memory, uint32_t table)
{
    uint32_t *word = (uint32_t *)(void *)(memory + table), left = *word++, place;

    for (; left; left--) {
        const uint32_t count = word[4], more = word[0] - word[1];
        const int32_t wanted = (int32_t)word[0];

        if (wanted < (int32_t)word[2] || wanted > (int32_t)word[3])
            return CARRYSAVE_BAD_PARAMETER;
        word[1] = word[0];
        word += PARAMETER_WORDS;
        for (place = more ? 0 : count; place < count; place++)
            *(uint32_t *)(void *)(memory + word[2 * place]) += more * word[2 * place + 1];
        word += 2 * count;
    }
    return CARRYSAVE_OK;
}

static carrysave_status run_jobs(const machine *of, uint32_t count, carrysave_counters *sum)
{
    carrysave_counters counters;
    const carrysave_status status
        = carrysave_run(of->device, of->jobs, count, of->memory + of->ring, of->base + of->ring, 0,
                        of->wait, of->argument, &counters);

    carrysave_add_counters(sum, &counters);
    return status;
}

/* Run groups of jobs: as many jobs on a start as there is room for. */
static carrysave_status start_jobs(machine *of, const uint32_t **at)
{
    const uint32_t *word = *at;
    uint32_t groups = word[0], number, count = 0;
    carrysave_counters *counters = (carrysave_counters *)(void *)(of->memory + word[1]);
    carrysave_status status = groups ? CARRYSAVE_OK : CARRYSAVE_BAD_RING;

    memset(counters, 0, sizeof *counters);
    for (word += 2; groups && status == CARRYSAVE_OK; groups--, word += JOB_WORDS) {
        for (number = 0; number < word[23] && status == CARRYSAVE_OK; number++) {
            describe(of, word, number, &of->jobs[count++]);
            if (count < CARRYSAVE_PROGRAM_JOBS)
                continue;
            status = run_jobs(of, count, counters);
            count = 0;
        }
    }
    *at = word;
    return status == CARRYSAVE_OK && count ? run_jobs(of, count, counters) : status;
}

/* Add to so many addresses, but to those on chip. */
static void add_to(uint32_t *word, uint32_t left, uint64_t by, uint64_t chip)
{
    for (; left; left--, word += 2) {
        const uint64_t address = word[0] | (uint64_t)word[1] << 32;
        if (address < chip) {
            word[0] = (uint32_t)(address + by);
            word[1] = (uint32_t)((address + by) >> 32);
        }
    }
}

/* Have the addresses of ready jobs right for where memory is, to the device: those on chip are.
 * Where a product has strides of scales, it has addresses of these; windows and maps have others. */
static void relocate(const machine *of, uint32_t *base, uint8_t *image, uint32_t count)
{
    const uint64_t by = of->base - (base[0] | (uint64_t)base[1] << 32);
    const uint64_t chip = of->device->info.scratch ? of->device->info.scratch_base : UINT64_MAX;

    for (; by && count; count--, image += CARRYSAVE_DESCRIPTOR_BYTES) {
        uint32_t *word = (uint32_t *)(void *)image;
        const uint32_t others = MASK(JOB__MODE__WINDOW) | MASK(JOB__MODE__VECTOR);

        add_to(word, ADDRESSES, by, chip);
        if ((word[JOB(LDSA) / 4u] || (word[JOB(MODE) / 4u] & LISTED_MODE))
            && !(word[JOB(MODE) / 4u] & others))
            add_to(word + JOB(A_SCALES_LO) / 4u, 2u, by, chip);
    }
    base[0] = (uint32_t)of->base;
    base[1] = (uint32_t)(of->base >> 32);
}

/* Run ready jobs: on one start, or each of the starts that they are by itself. */
static carrysave_status run_ready(machine *of, const uint32_t **at, bool apart)
{
    uint32_t *word = (uint32_t *)(uintptr_t)*at;
    uint8_t *images = of->memory + word[0];
    const uint32_t spans = word[7], *start = word + RING_WORDS + 2u * spans;
    const uint32_t drops = CARRYSAVE_DROPS_ALL ? spans != 0u : spans;
    uint32_t left = word[8], count = word[6], done = 0, number;
    carrysave_status status = left ? CARRYSAVE_OK : CARRYSAVE_BAD_RING;
    carrysave_counters *counters = (carrysave_counters *)(void *)(of->memory + word[3]);

    *at = start + 2u * left;
    relocate(of, word + 1, images, count);
    carrysave_clean_bytes(of->device, of->base + word[4], word[5] - word[4]);
    for (; left && status == CARRYSAVE_OK; start += 2, done += count) {
        if (apart) {
            count = start[0];
            counters = (carrysave_counters *)(void *)(of->memory + start[1]);
        }
        status = carrysave_run_ready(of->device,
                                     of->base + word[0]
                                         + (uint64_t)done * CARRYSAVE_DESCRIPTOR_BYTES,
                                     count, 0, of->wait, of->argument, apart ? counters : 0);
        left = apart ? left - 1u : 0u;
    }
    /* All counters would take as long as a small job. */
    if (!apart && status == CARRYSAVE_OK)
        counters->cycles = carrysave_read_cycles(of->device);
    for (number = 0; number < drops; number++)
        carrysave_drop_bytes(of->device, of->base + word[RING_WORDS + 2u * number],
                             word[RING_WORDS + 2u * number + 1u]);
    return status;
}

carrysave_status carrysave_program_run(carrysave *device, uint8_t *memory, uint64_t base,
                                       uint32_t start, carrysave_wait_function wait, void *argument)
{
    const uint32_t *word = (const uint32_t *)(const void *)(memory + start);
    carrysave_status status = CARRYSAVE_OK;
    uint32_t left = word[0];
    const bool apart = word[5] != 0;
    machine of;

    of.device = device;
    of.memory = memory;
    of.base = base;
    of.ring = word[1];
    of.wait = wait;
    of.argument = argument;
    if (word[4])
        status = set_parameters(memory, word[4]);
    for (word += HEAD_WORDS; left && status == CARRYSAVE_OK; left--) {
        const uint32_t kind = *word++;
        CARRYSAVE_STEP(device, kind);
        if (kind == MOVE)
            word = move(&of, word);
        else if (CARRYSAVE_FLOATS && kind == FLOATS)
            word = carrysave_floats(memory, word);
        else if (kind == RING)
            status = run_ready(&of, &word, apart);
        else
            status = kind == START ? start_jobs(&of, &word) : CARRYSAVE_BAD_RING;
        if (!word)
            return CARRYSAVE_BAD_RING;
    }
    CARRYSAVE_STEP(device, 0);
    return status;
}
