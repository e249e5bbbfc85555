/* What the sources of the driver share; not for its users. */

#ifndef CARRYSAVE_INTERNAL_H
#define CARRYSAVE_INTERNAL_H

#include "carrysave.h"
#include "carrysave_coprocessor.h"

#define JOB(name) ((uint32_t)offsetof(carrysave_coprocessor__JOB_t, name))
#define MASK(field) ((uint32_t)CARRYSAVE_COPROCESSOR__##field##_bm)
#define SHIFT(field) CARRYSAVE_COPROCESSOR__##field##_bp

static inline uint32_t ceil_div(uint32_t value, uint32_t by)
{
    /* A small processor takes long for each division. */
    return by == 1u ? value : value / by + (value % by != 0);
}

/* Of a place in a list, and of how many there are. */
#define CARRYSAVE_PLACE_BYTES 4u

/* Of a column's scale of a group. */
#define CARRYSAVE_SCALE_BYTES 2u

/* Matrices of a job, in the order of its addresses. */
enum { IN_A, IN_B, OUT_C, IN_BIAS, IN_RECORDS, IN_A_SCALES, IN_B_SCALES, MATRICES };

/* A matrix of a job: how many rows of how many numbers, of so many bits; without rows, the job has
 * none. */
typedef struct {
    uint64_t address;
    uint32_t rows, columns, bits, distance;
} matrix;

static inline uint64_t row_bytes(const matrix *of)
{
    return ((uint64_t)of->columns * of->bits + 7u) / 8u;
}

/* Bytes from the first of a matrix to behind its last; below 2^57. */
static inline uint64_t extent(const matrix *of)
{
    return (uint64_t)(of->rows - 1u) * of->distance + row_bytes(of);
}

/* Bytes of a row of a matrix, in whole beats. */
static inline uint32_t whole_beats(const carrysave *device, matrix of)
{
    const uint32_t beat = device->info.data_width / 8u;
    return beat * (uint32_t)((row_bytes(&of) + beat - 1u) / beat);
}

/* Words of A and of B, which an engine of integers has of one code each: bits, and how many along
 * K; a word of B may be as deep as several of A, so that it has fewer rows. */
typedef struct {
    uint32_t a_bits, b_bits, k, b_deep, b_rows;
} words;

/* Bytes of the table of a job; 0 if jobs have none. */
static inline uint32_t carrysave_book_bytes(const carrysave_info *info)
{
    if (info->codebook < CARRYSAVE_CODEBOOK_JOB4 || info->codebook > CARRYSAVE_CODEBOOK_JOB16)
        return 0u;
    return (4u << (info->codebook - CARRYSAVE_CODEBOOK_JOB4)) >> info->mirrored;
}

static inline words words_of(const carrysave *device, const carrysave_job *job)
{
    const carrysave_mode *mode = &job->mode;
    words w;

    w.a_bits = mode->codes ? mode->codes * mode->a_bits : device->info.a.bits;
    w.b_bits = mode->codes ? mode->codes * mode->b_bits : device->info.b.bits;
    w.k = mode->codes ? ceil_div(job->k, mode->codes) : job->k;
    w.b_deep = device->info.b_deep;
    w.b_rows = ceil_div(w.k, w.b_deep);
    return w;
}

/* Whether a product scales groups of K, as its strides say. */
static inline bool carrysave_grouped(const carrysave *device, const carrysave_job *job)
{
    return device->info.group_scales && job->ldsb && !job->vector && !job->mode.block;
}

/* Whether a device can be as its registers say, of which some are not kept. */
bool carrysave_is_sensible(const carrysave *device, uint32_t sum_bytes, uint32_t scratch,
                           bool has_vector);

/* One of the matrices of a job. */
matrix carrysave_matrix(const carrysave *device, const carrysave_job *job, int which);

/* The same of a vector job; whether the device has what it asks for; its part of MODE. */
matrix carrysave_vector_matrix(const carrysave *device, const carrysave_job *job, int which);
bool carrysave_vector_has(const carrysave *device, const carrysave_job *job);
uint32_t carrysave_vector_mode(const carrysave_job *job);
/* The most channels of a depthwise job. Whether an operation is on maps; how a job has the factor and the zero point of one of them. */
bool carrysave_is_map(uint32_t operation);
uint32_t carrysave_map_word(const carrysave_job *job, int which);
void carrysave_read_map(uint32_t word, carrysave_job *job, int which);

/* The map of a job of windows; its sizes and its geometry; its part of MODE; its words, and these
 * with the pixel read back. */
matrix carrysave_map(const carrysave_job *job);
carrysave_status carrysave_check_sizes(const carrysave_window *window);
carrysave_status carrysave_check_window(const carrysave_job *job);
/* What is wrong with the channels of a depthwise job; whether its memories hold its windows. */
carrysave_status carrysave_check_channels(const carrysave *device, const carrysave_job *job);
bool carrysave_depthwise_fits(const carrysave *device, const carrysave_job *job);
uint32_t carrysave_window_mode(const carrysave_job *job);
void carrysave_window_words(const carrysave_window *window, uint32_t words[4]);
void carrysave_read_window(const uint32_t words[5], carrysave_window *window);

/* Whether the device's addresses reach so many bytes, all in memory or all on chip. */
bool carrysave_reaches(const carrysave *device, uint64_t address, uint64_t bytes);

/* Whether an address is on chip, where caches have nothing of it. */
bool carrysave_on_chip(const carrysave *device, uint64_t address);

/* Tell each descriptor of a ring how many of the next ones differ only in their addresses, and may
 * overlap: of any four successive ones none reads what another one writes. */
void carrysave_mark_alike(const carrysave *device, const carrysave_job *jobs, uint32_t count,
                          uint8_t *ring);

bool carrysave_is_busy(carrysave *device);

/* Add counters to those of starts before. */
void carrysave_add_counters(carrysave_counters *sum, const carrysave_counters *to_add);

/* Start what carrysave_check has found right: one job; or a ring, if `checked`. */
carrysave_status carrysave_start_checked(carrysave *device, const carrysave_job *job);
carrysave_status carrysave_start_jobs(carrysave *device, const carrysave_job *jobs, uint32_t count,
                                      void *ring, uint64_t address, bool checked);

/* For a type of floats and a type of words as wide: a float of some bits, the bits of a float, and the
 * nearest integer, halves to the even one. `whole` is so large that a sum with it has no fraction.
 * Files forbid that sums are fused before they use this. */
#define CARRYSAVE_NUMBERS(number, bits, whole)    \
    static number of_bits(bits from)              \
    {                                             \
        number value;                             \
                                                  \
        memcpy(&value, &from, sizeof value);      \
        return value;                             \
    }                                             \
                                                  \
    static bits to_bits(number from)              \
    {                                             \
        bits value;                               \
                                                  \
        memcpy(&value, &from, sizeof value);      \
        return value;                             \
    }                                             \
                                                  \
    static number nearest(number value)           \
    {                                             \
        const number large = value + (whole);     \
                                                  \
        return large - (whole);                   \
    }

/* Write caches back; drop what they hold. */
void carrysave_clean_bytes(carrysave *device, uint64_t address, uint64_t bytes);
void carrysave_drop_bytes(carrysave *device, uint64_t address, uint64_t bytes);

/* The cycles of the last start. */
uint64_t carrysave_read_cycles(carrysave *device);

/* Start what descriptors in memory say. */
carrysave_status carrysave_start_ready(carrysave *device, uint64_t address, uint32_t count);

/* Functions of floats of 32 bits, by their numbers in a step; the nearest integer, up to 2^22. */
enum { CARRYSAVE_EXP = 19, CARRYSAVE_LOGISTIC, CARRYSAVE_TANH, CARRYSAVE_ERF };
float carrysave_single(uint32_t which, float x);
float carrysave_nearest(float x);

/* Do the step of a program on floats that begins with some words; return the words behind it, or null
 * if there is no such step. */
const uint32_t *carrysave_floats(uint8_t *memory, const uint32_t *word);

/* Whether the stores hold the blocks of a job. */
bool carrysave_fits(const carrysave *device, const carrysave_job *job);

#endif
