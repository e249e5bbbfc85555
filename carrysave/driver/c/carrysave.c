#include <string.h>

#include "carrysave_internal.h"

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
#ifdef CARRYSAVE_CLEAN
#define CLEANS 1
#else
#define CLEANS 0 /* of no matrix is it asked where it is */
#define CARRYSAVE_CLEAN(device, address, bytes) ((void)(device), (void)(address), (void)(bytes))
#endif
#ifndef CARRYSAVE_INVALIDATE
#define CARRYSAVE_INVALIDATE(device, address, bytes) \
    ((void)(device), (void)(address), (void)(bytes))
#endif
#ifndef CARRYSAVE_RESET_POLLS
#define CARRYSAVE_RESET_POLLS 1000000u
#endif
#ifndef CARRYSAVE_RING
#define CARRYSAVE_RING 1
#endif
#ifndef CARRYSAVE_BROKEN
#define CARRYSAVE_BROKEN(device) ((void)(device), false)
#endif
#ifndef CARRYSAVE_WHY
#define CARRYSAVE_WHY(device) ((void)(device), (carrysave_status)CARRYSAVE_LINK)
#endif
#ifndef CARRYSAVE_MEND
#define CARRYSAVE_MEND(device) ((void)(device), true)
#endif

#define REGISTER(name) ((uint32_t)offsetof(carrysave_coprocessor_t, name))
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

/* The outcome of an access: the status, or that it did not take place. */
static carrysave_status reported(carrysave *device, carrysave_status status)
{
    (void)device;
    return CARRYSAVE_BROKEN(device) ? CARRYSAVE_WHY(device) : status;
}

/* Tell what words B is of in memory; false: of numbers that no build has. */
static bool open_weights(carrysave_info *info)
{
    const uint32_t width = info->b.width;
    const uint32_t kept = info->codebook == CARRYSAVE_CODEBOOK_MASKS_2_4 ? 2u : 1u;
    uint32_t bits = 1u;

    info->b_deep = info->trits ? CARRYSAVE_TRITS : 1u;
    if (!info->codebook)
        return true;
    /* The numbers that codes stand for have a byte. */
    if (!width || width > 8u)
        return false;
    if (info->codebook == CARRYSAVE_CODEBOOK_JOB8)
        info->b_deep = CARRYSAVE_CODES;
    if (info->codebook > CARRYSAVE_CODEBOOK_JOB16) {
        while (bits < width)
            bits *= 2u;
        info->b_deep = 4u * (64u / (4u + kept * bits));
    }
    info->b.width = info->b.bits - (info->codebook == CARRYSAVE_CODEBOOK_JOB8);
    info->b.is_signed = false;
    return true;
}

#ifdef CARRYSAVE_COPROCESSOR__VECTOR__VALUE_bm
static void open_vector(carrysave *device)
{
    carrysave_vector_unit *unit = &device->info.vector;
    const uint32_t word = get(device, REGISTER(VECTOR_FORMAT));

    unit->operations = get(device, REGISTER(VECTOR));
    unit->length = get(device, REGISTER(VECTOR_LENGTH));
    unit->width = FIELD(word, VECTOR_FORMAT__WIDTH);
    unit->out_width = FIELD(word, VECTOR_FORMAT__OUT_WIDTH);
    unit->scale_width = FIELD(word, VECTOR_FORMAT__SCALE_WIDTH);
    unit->norm_fraction = FIELD(word, VECTOR_FORMAT__NORM_FRACTION);
    unit->lanes = FIELD(word, VECTOR_FORMAT__LANES);
    unit->is_signed = FIELD(word, VECTOR_FORMAT__SIGNED_CODES) != 0;
}
#endif

carrysave_status carrysave_open(carrysave *device, volatile void *base, void *context)
{
    carrysave_info *info = &device->info;
    uint32_t word, sum_bytes, scratch;
    bool has_vector = false;

    memset(device, 0, sizeof *device);
    device->base = base;
    device->context = context;
    if (get(device, REGISTER(MAGIC)) != RESET(MAGIC__VALUE))
        return reported(device, CARRYSAVE_NO_DEVICE);
    if (get(device, REGISTER(ABI)) != RESET(ABI__VALUE))
        return reported(device, CARRYSAVE_OTHER_ABI);
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
    sum_bytes = get(device, REGISTER(SUM_BYTES));
    info->sum.bits = 8u * sum_bytes;
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
    info->row_factors = FIELD(word, FEATURES__ROW_FACTORS) != 0;
    info->ring = CARRYSAVE_RING && FIELD(word, FEATURES__RING) != 0;
    info->ready = FIELD(word, FEATURES__RING) != 0;
    info->scales = FIELD(word, FEATURES__SCALES) != 0;
    info->floats = info->scales && !info->sum.is_signed;
    info->sum.is_signed |= info->floats != 0;
    info->stream = FIELD(word, FEATURES__STREAM) != 0;
    info->formats = FIELD(word, FEATURES__FORMATS) != 0;
    info->fixed_blocks = FIELD(word, FEATURES__FIXED_BLOCKS) != 0;
    info->uncounted = FIELD(word, FEATURES__UNCOUNTED) != 0;
    info->sizes = FIELD(word, FEATURES__SIZES) != 0;
    info->windows = FIELD(word, FEATURES__WINDOWS) != 0;
    info->taps = FIELD(word, FEATURES__TAPS);
    info->table = FIELD(word, FEATURES__TABLE) != 0;
    info->trits = FIELD(word, FEATURES__TRITS) != 0;
    info->codebook = (carrysave_codebook)FIELD(word, FEATURES__CODEBOOK);
    if (!open_weights(info))
        return reported(device, CARRYSAVE_BAD_DEVICE);
    info->fast_array = FIELD(word, FEATURES__FAST_ARRAY) != 0;
    info->rounding = (carrysave_rounding)FIELD(word, FEATURES__ROUNDING);
    scratch = FIELD(word, FEATURES__SCRATCH);
#ifdef CARRYSAVE_COPROCESSOR__MORE_FEATURES__SPARSE_bm
    if (FIELD(word, FEATURES__MORE)) {
        const uint32_t more = get(device, REGISTER(MORE_FEATURES));

        info->sparse = FIELD(more, MORE_FEATURES__SPARSE) != 0;
        info->shares = FIELD(more, MORE_FEATURES__SHARES) != 0;
        info->mirrored = FIELD(more, MORE_FEATURES__MIRRORED) != 0;
        info->lists = FIELD(more, MORE_FEATURES__LISTS);
        info->group_scales = FIELD(more, MORE_FEATURES__GROUP_SCALES);
        info->random_width = FIELD(more, MORE_FEATURES__RANDOM_WIDTH);
        info->top_k = FIELD(more, MORE_FEATURES__TOP_K);
    }
#endif
#ifdef CARRYSAVE_COPROCESSOR__VECTOR__VALUE_bm
    has_vector = FIELD(word, FEATURES__VECTOR) != 0;
    if (has_vector)
        open_vector(device);
#endif
    if (!carrysave_is_sensible(device, sum_bytes, scratch, has_vector))
        return reported(device, CARRYSAVE_BAD_DEVICE);
    if (scratch) {
        info->scratch = (uint32_t)1 << scratch;
        info->scratch_base = UINT64_MAX >> (64u - info->address_width);
        info->scratch_base -= info->scratch - 1u;
    }
    return CARRYSAVE_BROKEN(device) ? CARRYSAVE_LINK : carrysave_reset(device);
}

carrysave_status carrysave_reset(carrysave *device)
{
    bool enabled;
    uint32_t polls;

    if (!CARRYSAVE_MEND(device))
        return CARRYSAVE_LINK;
    enabled = get(device, REGISTER(GIER)) != 0;
    put(device, REGISTER(CTRL), MASK(CTRL__RESET));
    for (polls = 0; polls < CARRYSAVE_RESET_POLLS; polls++) {
        if (!(get(device, REGISTER(CTRL)) & MASK(CTRL__RESET))) {
            carrysave_interrupt(device, enabled);
            return reported(device, CARRYSAVE_OK);
        }
    }
    return CARRYSAVE_LOST;
}

void carrysave_interrupt(carrysave *device, bool enable)
{
    put(device, REGISTER(IER), enable ? MASK(IER__DONE) : 0u);
    put(device, REGISTER(GIER), enable ? MASK(GIER__ENABLE) : 0u);
}

static uint32_t load(const uint8_t *place)
{
    return place[0] | (uint32_t)place[1] << 8 | (uint32_t)place[2] << 16 | (uint32_t)place[3] << 24;
}

/* Write caches back of all that the device reads, and of C, a line of which would otherwise be
 * written over what the device wrote. */
static void clean(carrysave *device, const carrysave_job *job)
{
    int which;

    for (which = 0; CLEANS && which < MATRICES; which++) {
        const matrix found = carrysave_matrix(device, job, which);
        if (found.rows && !device->info.stream && !carrysave_on_chip(device, found.address))
            CARRYSAVE_CLEAN(device, found.address, extent(&found));
    }
}

bool carrysave_is_busy(carrysave *device)
{
    return !(get(device, REGISTER(CTRL)) & MASK(CTRL__IDLE));
}

carrysave_status carrysave_start(carrysave *device, const carrysave_job *job)
{
    const carrysave_status status = carrysave_check(device, job);
    return status == CARRYSAVE_OK ? carrysave_start_checked(device, job) : status;
}

carrysave_status carrysave_start_checked(carrysave *device, const carrysave_job *job)
{
    uint8_t image[CARRYSAVE_DESCRIPTOR_BYTES];
    uint32_t offset;

    if (carrysave_is_busy(device))
        return reported(device, CARRYSAVE_BUSY);
    clean(device, job);
    carrysave_describe(job, image);
    for (offset = 0; offset < JOB(ALIKE); offset += 4u)
        put(device, REGISTER(JOB) + offset, load(image + offset));
    put(device, REGISTER(RING_COUNT), 0u);
    device->jobs_started = 1u;
    CARRYSAVE_BARRIER(device);
    put(device, REGISTER(CTRL), MASK(CTRL__START));
    return reported(device, CARRYSAVE_OK);
}

carrysave_status carrysave_start_ring(carrysave *device, const carrysave_job *jobs, uint32_t count,
                                      void *ring, uint64_t address)
{
    return carrysave_start_jobs(device, jobs, count, ring, address, false);
}

static carrysave_status start_ring(carrysave *device, uint64_t address, uint32_t count)
{
    put(device, REGISTER(RING_LO), (uint32_t)address);
    put(device, REGISTER(RING_HI), (uint32_t)(address >> 32));
    put(device, REGISTER(RING_COUNT), count);
    device->jobs_started = count;
    CARRYSAVE_BARRIER(device);
    put(device, REGISTER(CTRL), MASK(CTRL__START));
    return reported(device, CARRYSAVE_OK);
}

carrysave_status carrysave_start_jobs(carrysave *device, const carrysave_job *jobs, uint32_t count,
                                      void *ring, uint64_t address, bool checked)
{
    const uint64_t bytes = (uint64_t)count * CARRYSAVE_DESCRIPTOR_BYTES;
    uint32_t number;

    if (!device->info.ring)
        return CARRYSAVE_BAD_MODE;
    if (!count || address % (device->info.data_width / 8u)
        || !carrysave_reaches(device, address, bytes) || carrysave_on_chip(device, address))
        return CARRYSAVE_BAD_RING;
    if (carrysave_is_busy(device))
        return reported(device, CARRYSAVE_BUSY);
    for (number = 0; number < count; number++) {
        const carrysave_status status =
            checked ? CARRYSAVE_OK : carrysave_check(device, &jobs[number]);
        if (status != CARRYSAVE_OK)
            return status;
        clean(device, &jobs[number]);
        carrysave_describe(&jobs[number],
                           (uint8_t *)ring + (size_t)number * CARRYSAVE_DESCRIPTOR_BYTES);
    }
    carrysave_mark_alike(device, jobs, count, (uint8_t *)ring);
    CARRYSAVE_CLEAN(device, address, bytes);
    return start_ring(device, address, count);
}

void carrysave_clean_bytes(carrysave *device, uint64_t address, uint64_t bytes)
{
    CARRYSAVE_CLEAN(device, address, bytes);
}

void carrysave_drop_bytes(carrysave *device, uint64_t address, uint64_t bytes)
{
    CARRYSAVE_INVALIDATE(device, address, bytes);
}

carrysave_status carrysave_start_ready(carrysave *device, uint64_t address, uint32_t count)
{
    if (!device->info.ready || !count || address % (device->info.data_width / 8u))
        return CARRYSAVE_BAD_RING;
    if (carrysave_is_busy(device))
        return reported(device, CARRYSAVE_BUSY);
    return start_ring(device, address, count);
}

/* Reset, and tell why; or that it could not be done. */
static carrysave_status give_up(carrysave *device, carrysave_status why)
{
    const carrysave_status status = carrysave_reset(device);
    return status == CARRYSAVE_OK ? why : status;
}

/* Jobs that are done, which are no more than were started, whatever a register says. */
static uint32_t jobs_done(carrysave *device)
{
    const uint32_t done = get(device, REGISTER(RING_DONE));
    return done < device->jobs_started ? done : device->jobs_started;
}

/* Memory did not answer a job. */
static bool is_timeout(uint32_t code)
{
    return code == CARRYSAVE_COPROCESSOR__ERROR__CODE__READ_TIMEOUT_code
           || code == CARRYSAVE_COPROCESSOR__ERROR__CODE__WRITE_TIMEOUT_code
           || code == CARRYSAVE_COPROCESSOR__ERROR__CODE__RING_TIMEOUT_code;
}

carrysave_status carrysave_wait(carrysave *device, uint32_t polls, carrysave_wait_function wait,
                                void *argument)
{
    uint32_t polled = 0, word;

    while (!(get(device, REGISTER(CTRL)) & MASK(CTRL__DONE))) {
        polled++;
        if (CARRYSAVE_BROKEN(device))
            break;
        if ((polls && polled == polls) || (wait && !wait(device, argument))) {
            device->jobs_done = jobs_done(device);
            return give_up(device, reported(device, CARRYSAVE_TIMEOUT));
        }
    }
    CARRYSAVE_BARRIER(device);
    put(device, REGISTER(ISR), get(device, REGISTER(ISR)));
    device->jobs_done = jobs_done(device);
    word = get(device, REGISTER(ERROR));
    if (CARRYSAVE_BROKEN(device))
        return give_up(device, CARRYSAVE_WHY(device));
    if (FIELD(word, ERROR__CODE)) {
        device->error.code = FIELD(word, ERROR__CODE);
        device->error.response = FIELD(word, ERROR__RESPONSE);
        device->error.job = get(device, REGISTER(ERROR_JOB));
        device->error.address = get_wide(device, REGISTER(ERROR_ADDRESS_LO));
        if (is_timeout(device->error.code) && !CARRYSAVE_BROKEN(device)) {
            /* It can be reset only when memory has answered; the error says where it has not. */
            const carrysave_status status = carrysave_reset(device);
            return status == CARRYSAVE_LINK ? status : CARRYSAVE_SILENT;
        }
        return give_up(device, reported(device, CARRYSAVE_FAILED));
    }
    if (FIELD(word, ERROR__IGNORED))
        return give_up(device, CARRYSAVE_DISTURBED);
    return CARRYSAVE_OK;
}

void carrysave_finish(carrysave *device, const carrysave_job *jobs, uint32_t count)
{
    uint32_t number;
    for (number = 0; number < count; number++) {
        const matrix c = carrysave_matrix(device, &jobs[number], OUT_C);
        if (!carrysave_on_chip(device, c.address))
            CARRYSAVE_INVALIDATE(device, c.address, extent(&c));
    }
}

uint64_t carrysave_read_cycles(carrysave *device)
{
    const uint32_t low = (uint32_t)offsetof(carrysave_coprocessor__COUNTERS_t, CYCLES_LO);
    return get_wide(device, REGISTER(COUNTERS) + low);
}

carrysave_status carrysave_read_counters(carrysave *device, carrysave_counters *counters)
{
    const uint32_t base = REGISTER(COUNTERS);
    counters->cycles = carrysave_read_cycles(device);
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
    return reported(device, CARRYSAVE_OK);
}
