/* Driver of the carrysave matmul co-processor: C = requantise(A x B + bias), matrices in memory.
 *
 * C99 or C++, no allocation, no state but that in `carrysave`. Registers are those of
 * carrysave_coprocessor.h, which is made from the register map of the hardware.
 *
 * To adapt it to a platform, name a header of your own in CARRYSAVE_CONFIG that defines any of:
 *
 *   CARRYSAVE_READ(device, offset)            read a register of 32 bits
 *   CARRYSAVE_WRITE(device, offset, value)    write one
 *   CARRYSAVE_BARRIER(device)                 memory before it is seen by the device, and back
 *   CARRYSAVE_CLEAN(device, address, bytes)   write caches back to memory, before a start
 *   CARRYSAVE_INVALIDATE(device, address, bytes)  drop what caches hold, before C is read
 *   CARRYSAVE_DROPS_ALL                       1: each of these drops all that caches hold
 *   CARRYSAVE_STEP(device, kind)              called before each step of a program, and with 0 behind
 *   CARRYSAVE_RESET_POLLS                     reads of a register after which a reset is given up
 *   CARRYSAVE_RING                            0: no rings, as the device does not see our memory
 *   CARRYSAVE_FLOATS                          0: no programs with steps on floats
 *   CARRYSAVE_BROKEN(device)                  an access failed, and none takes place any more
 *   CARRYSAVE_WHY(device)                     status of that
 *   CARRYSAVE_MEND(device)                    make accesses possible again, or else false
 *
 * Addresses are those that the device puts on its bus. For a device between streams, which has none,
 * carrysave_stream.h is beside this file; for one behind a serial line, carrysave_uart.h. */

#ifndef CARRYSAVE_H
#define CARRYSAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CARRYSAVE_DESCRIPTOR_BYTES 128u
#define CARRYSAVE_RECORD_BYTES 8u
#define CARRYSAVE_FACTOR_BYTES 2u
#define CARRYSAVE_TABLE_BYTES 256u
#define CARRYSAVE_TRITS 5u /* weights in a byte */
#define CARRYSAVE_CODES 21u /* of 3 bits in a word */

typedef enum {
    CARRYSAVE_OK,
    /* What is wrong with the device. */
    CARRYSAVE_NO_DEVICE, /* another device, or none */
    CARRYSAVE_OTHER_ABI, /* another version of the register map */
    CARRYSAVE_BUSY,      /* a job is under way */
    CARRYSAVE_FAILED,    /* a job failed: see `error`; the device was reset */
    CARRYSAVE_TIMEOUT,   /* given up; the device was reset */
    CARRYSAVE_LOST,      /* it cannot be reset, and may go on writing to memory */
    CARRYSAVE_DISTURBED, /* registers were written during a run; the device was reset */
    /* What is wrong with a job; nothing was started. */
    CARRYSAVE_BAD_DIMENSION,
    CARRYSAVE_BAD_K,
    CARRYSAVE_BAD_MODE, /* it needs what the device does not have */
    CARRYSAVE_BAD_ROW,
    CARRYSAVE_BAD_ADDRESS,
    CARRYSAVE_BAD_BLOCK,
    CARRYSAVE_BAD_REQUANTISATION,
    CARRYSAVE_BAD_RING,
    /* What is wrong with the way to the device. */
    CARRYSAVE_LINK, /* accesses failed, or the device was reset by itself: carrysave_reset is next */
    /* What is wrong with a vector job; nothing was started. */
    CARRYSAVE_BAD_LENGTH,
    /* What is wrong with the device, too. */
    CARRYSAVE_BAD_DEVICE, /* its registers say what no device is: the bus is broken, or the clock */
    /* What is wrong with a program. */
    CARRYSAVE_BAD_PARAMETER,
    /* What is wrong with the windows of a job; nothing was started. */
    CARRYSAVE_BAD_WINDOW,
    /* What is wrong with the memory. */
    CARRYSAVE_SILENT,   /* it does not answer: of a job see `error`; reset again when it has */
    CARRYSAVE_UNSTARTED /* it has not started: no byte was accessed; no job, and reset is next */
} carrysave_status;

/* Integers from low to high, in containers of `bits`. */
typedef struct {
    uint32_t bits, width;
    bool is_signed;
} carrysave_number;

/* Operations of a vector unit on rows, by their numbers in a job. */
enum {
    CARRYSAVE_PRODUCT, /* none: the job is a product */
    CARRYSAVE_SOFTMAX,
    CARRYSAVE_LAYER_NORM,
    CARRYSAVE_RMS_NORM,
    CARRYSAVE_GELU,
    CARRYSAVE_SILU,
    CARRYSAVE_ADD,
    CARRYSAVE_MULTIPLY,
    CARRYSAVE_SCALE,
    CARRYSAVE_TRANSPOSE,
    CARRYSAVE_GATHER,
    CARRYSAVE_MAP_ADD,
    CARRYSAVE_MAP_MULTIPLY,
    CARRYSAVE_MAP_MAX,
    CARRYSAVE_DEPTHWISE,
    /* Shares of blocks of codes: rows of C are of n codes, zeros to the end of a beat of lanes, and the
     * exponents of blocks, or where products take shares their octaves. With requantise, rows are
     * divided by their last value: `shift` says that codes are in units of 2^-shift. */
    CARRYSAVE_EXPS,
    /* By the number of another one, and a fifth bit. Sigmoids are requantised as SiLU are. A blend
     * is A f + B (1 - f): rows of B are of n codes, and of n factors behind them, of which `shift`
     * bits are behind the binary point. An index makes rows of C of n + 1 numbers of 32 bits: the
     * places of codes of A whose magnitude is `low` or more, zeros, and how many there are. The k
     * greatest codes, k up to `top_k`, make rows of C of k + 1 such numbers, their places and k, and
     * of these codes as A has them, from the greatest down, of equal ones the lower place first. */
    CARRYSAVE_SIGMOID = 16 + CARRYSAVE_SILU,
    CARRYSAVE_BLEND = 16 + CARRYSAVE_MULTIPLY,
    CARRYSAVE_INDEX = 16 + CARRYSAVE_GATHER,
    CARRYSAVE_TOP_K = 16 + CARRYSAVE_TRANSPOSE
};

/* What a vector unit is built for. It takes codes of `width` bits, two's complement, in 1 byte or, if
 * they are more than 8, in 2 too, and makes codes of `out_width` bits in 1 byte or 2: of a softmax
 * p for p * 2^-e, unsigned, with the exponent e of the row behind them; of norms codes in units of
 * 2^-norm_fraction. Softmax, GELU and SiLU take codes in units of 2^-scale_width. */
typedef struct {
    uint32_t operations; /* bit n - 1: operation n, of 5 bits; 0: there is no unit */
    uint32_t length;     /* most codes in a row; see carrysave_vector_most */
    uint32_t width, out_width, scale_width, norm_fraction, lanes;
    bool is_signed; /* codes of a softmax leave a bit for a sign */
} carrysave_vector_unit;

/* How sums become codes: once, halves up; twice, as TFLite; once, halves to the even code. */
typedef enum {
    CARRYSAVE_ROUND_SINGLE,
    CARRYSAVE_ROUND_DOUBLE,
    CARRYSAVE_ROUND_EVEN
} carrysave_rounding;

/* Codes that B consists of in memory, where it is not of numbers: of 4 bits, of 16 constants; of a
 * bit, 0 for 1 and 1 for -1; of 2, 3 or 4 bits, of a table of the job, a byte for each code, at
 * b_scales. Those of 3 bits are 21 along K in a word of 64 bits, the first one lowest. Or of those
 * of each 4 along K that are not 0, one or two, in words of 64 bits: a bit for each of `b_deep` along
 * K, and behind these masks the numbers that have one, to the word's upper end. */
typedef enum {
    CARRYSAVE_CODEBOOK_NONE,
    CARRYSAVE_CODEBOOK_NF4,
    CARRYSAVE_CODEBOOK_SIGN,
    CARRYSAVE_CODEBOOK_JOB4,
    CARRYSAVE_CODEBOOK_JOB8,
    CARRYSAVE_CODEBOOK_JOB16,
    CARRYSAVE_CODEBOOK_MASKS_1_4,
    CARRYSAVE_CODEBOOK_MASKS_2_4
} carrysave_codebook;

/* What the device tells of itself. */
typedef struct {
    uint32_t version, engine;
    uint64_t hash;
    uint32_t tile_m, tile_n, tile_k;
    uint32_t k_max, address_width, data_width, outstanding, dimension_width;
    uint32_t sums, a_bytes, b_bytes;
    carrysave_number a, b, sum, code;
    bool requantiser, per_column, bias, accumulate, ring, scales, stream, formats;
    bool fixed_blocks; /* jobs leave blocks to the device */
    bool uncounted;    /* counters are 0 */
    bool sizes;        /* jobs choose the bytes of a code of C */
    bool windows;      /* jobs can make A of the windows of a map */
    bool ready;        /* descriptors that are in memory already run as a ring */
    uint32_t taps;     /* multipliers of a lane, for jobs on maps; 0: there are no such jobs */
    bool table;        /* jobs can look codes up in a table */
    bool trits;        /* rows of B are of bytes, of CARRYSAVE_TRITS weights along K each */
    bool row_factors;  /* rows of the sums that are accumulated into can have factors */
    bool sparse;       /* B can be packed: bitmaps, and the bytes that are not zero */
    bool shares;       /* products can shift sums of blocks of shares by octaves, in rows of A */
    bool mirrored;     /* a job's table is of numbers from 0 on; half of the codes stand for ~number */
    uint32_t group_scales; /* 1, 2: sums of groups of K can be scaled, by fp16 or bf16; 0: they cannot */
    uint32_t lists;    /* most places of a list, by which rows of B are read; 0: there are none */
    uint32_t random_width; /* random bits by which codes of floats are rounded; 0: none */
    uint32_t top_k;    /* most of the greatest codes of a row that a job finds; 0: none does */
    carrysave_codebook codebook; /* of whose codes B is, if of any; `b` is of these then */
    uint32_t b_deep;   /* numbers along K that a word of B stands for */
    bool fast_array;   /* the engine's clock is twice that of the bus */
    carrysave_rounding rounding; /* of the requantiser, if there is one */
    carrysave_vector_unit vector;
    uint32_t scratch;      /* bytes on chip at the last addresses, which only jobs see; 0: none */
    uint32_t floats; /* 1: blocks have scales, and sums are floats, which stay in the engine */
    uint64_t scratch_base; /* the first of these addresses; no matrix is in part there */
} carrysave_info;

/* A pair of formats of an engine that has several, see carrysave_modes.h beside this file. Along K
 * such an engine takes words of so many codes: a row of A is of codes one after the other; B is of
 * as many rows as there are words along K, in each of which the codes of a word, all of one column,
 * are followed by those of the next column. Behind the last code along K are zeros.
 *
 * Scales are bytes: of A, a row for each of A's rows, of a scale for each block along K; of B, a row
 * for each block, of a scale for each column. The last block may be shorter. C is of floats then.
 * Zero points are bytes, too: of B, behind the scale of the same block and column, or alone. */
typedef struct {
    const char *a, *b; /* names of the formats */
    uint32_t a_format, b_format; /* numbers of the engine's own */
    uint32_t a_bits, b_bits; /* of a code in memory */
    uint32_t codes; /* of a word; 0: this is no mode */
    uint32_t k_max; /* codes along K, at most */
    int32_t exponent; /* of 2: what the last bit of a sum stands for */
    uint32_t block; /* codes along K that have side bytes; 0: there are none */
    uint32_t zeros; /* 1: these are zero points of columns of B, behind scales if there are any */
} carrysave_mode;

/* Why a job failed; code and response as register ERROR has them. */
typedef struct {
    uint32_t code, response, job;
    uint64_t address;
} carrysave_error;

typedef struct {
    uint64_t cycles, compute, stall_load, stall_store, read_beats, write_beats, macs;
} carrysave_counters;

typedef struct {
    volatile void *base;
    void *context; /* the caller's own */
    carrysave_info info;
    carrysave_error error; /* of the last run that failed */
    uint32_t jobs_done;    /* of the last run */
    uint32_t jobs_started; /* by the last start */
} carrysave;

/* The geometry of a convolution over a map of height x width pixels of some codes of a byte. A row
 * of A is a window: the codes of kernel rows, of taps, of channels; windows go from left to right,
 * `across` in a row, then down. Pairs are down and across. */
typedef struct {
    uint32_t height, width, across, channels; /* 1..65536, channels one less */
    uint32_t pixel;                           /* bytes from a pixel to the next */
    uint32_t kernel[2];                       /* taps, 1..256 */
    uint32_t strides[2], dilations[2];        /* steps from window to window, from tap to tap, 1..15 */
    uint32_t first[2]; /* by which the first window begins above the map, and left of it, 0..255 */
    uint32_t fill;     /* the code beyond the edges */
} carrysave_window;

/* A product; carrysave_job_init fills in what is mostly so. */
typedef struct {
    uint64_t a, b, c;
    uint32_t m, n, k;
    uint32_t lda, ldb, ldc; /* bytes from a row to the next */
    /* If the mode has blocks. Without blocks: b_scales is a codebook of the job; or with info.group_scales
     * both are of groups, unless ldsb is 0; or with info.shares a_scales are octaves of shares, unless
     * ldsa is 0. */
    uint64_t a_scales, b_scales;
    uint32_t ldsa, ldsb;
    /* Address of N sums, if add_bias; of M factors of rows, if accumulate, too: CARRYSAVE_FACTOR_BYTES
     * each, in units of 2^-15, by which the sums in memory are multiplied before any are added. */
    uint64_t bias;
    /* Address of N records, if per_column; and behind them, of a job on maps there alone, of a table of
     * CARRYSAVE_TABLE_BYTES, if codes of a byte are looked up in one, by codes without their sign. */
    uint64_t records;
    bool add_bias, requantise, per_column, accumulate, relu, by_columns, table;
    /* B is an image of ldb bytes, as the Python driver and `carrysave pack` make it of the blocks
     * of the job. */
    bool packed;
    /* Of a product: a_scales is the address of a list as CARRYSAVE_INDEX makes it of k codes; A and
     * B are read at its places of K alone. With ldsa, of devices that have top_k, it is the address of
     * a number of 32 bits, less than ldsb: of the job's B, of ldsb that are ldsa bytes apart. */
    bool listed;
    carrysave_mode mode; /* zeros for an engine of integers */
    /* If info.random_width is not 0, multiplier is the seed of the random bits, 31 bits. */
    uint32_t multiplier, shift;
    int32_t zero_point, low, high;
    uint32_t block_m, block_n, block_k; /* tiles, tiles, beats; any 0: the device's choice */
    uint32_t vector; /* operation on rows, see carrysave_job_init_vector; or CARRYSAVE_PRODUCT */
    uint32_t c_bytes; /* of a code of C, 1 or 2, if jobs choose, and ldc is for it; 0: as usual */
    int32_t factors[2], zeros[2]; /* of A and of B, of a job on maps */
    /* A is made of a map, at `a`, whose rows are lda apart; k are the codes of a window. All blocks
     * are given, block_k in taps. */
    bool of_windows;
    carrysave_window window;
} carrysave_job;

/* Called between polls; false gives up. It may wait for the interrupt, or sleep. */
typedef bool (*carrysave_wait_function)(carrysave *device, void *argument);

/* Read what the device at `base` is, and reset it. */
carrysave_status carrysave_open(carrysave *device, volatile void *base, void *context);

/* Let bursts under way end, drop jobs, and give registers their reset values. */
carrysave_status carrysave_reset(carrysave *device);

/* Enable the interrupt at the end of a start, or disable it. It is cleared by carrysave_wait. */
void carrysave_interrupt(carrysave *device, bool enable);

/* Describe a product of matrices whose rows begin at whole beats; codes of full range in C if
 * requantise. Addresses, and what else is wanted, are the caller's to set. */
void carrysave_job_init(const carrysave *device, carrysave_job *job, uint32_t m, uint32_t n,
                        uint32_t k, bool requantise);

/* The same for an engine of several formats, in one of its modes; C of codes is rounded if the engine
 * has a format of results. */
void carrysave_job_init_mode(const carrysave *device, carrysave_job *job,
                             const carrysave_mode *mode, uint32_t m, uint32_t n, uint32_t k,
                             bool requantise);

/* The most codes in a row of an operation of the vector unit; 0: there is no such operation. */
uint32_t carrysave_vector_most(const carrysave *device, uint32_t operation);

/* Describe an operation on each of m rows of n codes of A, of so many bytes each, 1 or 2, where rows
 * begin at whole beats. C has as many codes, of a softmax one more; its rows may be where those of A
 * or B are, one upon one. ADD and MULTIPLY take rows of B, as those of A, or with ldb of 0 one row
 * for all, which C must not overlap. SCALE takes a byte of B for each row, or with ldb of 0 one for
 * all: an exponent, such as that of a row of a softmax, which is added to shift. These, GELU and SILU
 * are requantised: multiplier, of out_width + 4 bits, shift and zero_point are the caller's to set,
 * as addresses are. Where jobs choose, c_bytes of 1 makes bytes of codes of two, if they are
 * requantised, within low and high, or of a softmax, whose codes are rounded to 8 bits, or 7 if the
 * unit is_signed. TRANSPOSE takes bytes, of any m and n, and writes n rows of m to other memory.
 * GATHER takes a table of k rows, the caller's to set, and writes m of them as they are to other
 * memory: those whose numbers, of 32 bits, little endian, are one after the other in B. A number of
 * k or more fails the job, when the rows before it may have been written. MAP_ADD and MAP_MULTIPLY
 * take bytes of A and B, rows of B as ADD, less their zeros; they add them times their factors, or
 * multiply them, and requantise that to bytes as a product's sums: multiplier is of any size.
 * MAP_MAX takes the greater of the two, times their factors. DEPTHWISE is a job of windows, of m of
 * them and n channels, whose B are k weights, one after the other, by taps and by channels: window,
 * k, lda, bias and records are the caller's to set; pixels are n, up to the next multiple of lanes,
 * and codes are less `fill`. It has no blocks. */
void carrysave_job_init_vector(const carrysave *device, carrysave_job *job, uint32_t operation,
                               uint32_t m, uint32_t n, uint32_t bytes);

/* Choose the blocks of a job; better than the device's own choice for small and odd sizes. With
 * fixed_blocks there is no other, and vector jobs have none; those of windows stay as they are. */
void carrysave_plan(const carrysave *device, carrysave_job *job);

/* Have a product scale the integer sums of groups of so many codes along K, 2^i beats, the last of
 * which may have fewer, and add them up in fp32, if the device has group_scales: choose its blocks and
 * strides, and float C. The caller sets a_scales, exponents of 2, a byte of two's complement for each
 * row of A in a row for each group, -128 for NaN; and b_scales, 16 bits for each column in a row for
 * each group. There is no bias, accumulation or requantisation then. CARRYSAVE_BAD_MODE: the device
 * or the job cannot; CARRYSAVE_BAD_BLOCK: such groups cannot be. */
carrysave_status carrysave_job_groups(const carrysave *device, carrysave_job *job, uint32_t group);

/* Say whether the device would refuse a job. */
carrysave_status carrysave_check(const carrysave *device, const carrysave_job *job);

/* Write a job as memory has it, whatever the byte order of this processor. */
void carrysave_describe(const carrysave_job *job, uint8_t descriptor[CARRYSAVE_DESCRIPTOR_BYTES]);

/* Write how one column is requantised, as memory has it. */
void carrysave_record(uint32_t multiplier, uint32_t shift, int32_t zero_point,
                      uint8_t record[CARRYSAVE_RECORD_BYTES]);

/* Pack weights, -1, 0 and 1, of a column of B where info.trits: a row of B has a byte for each
 * column, of five weights along K. Behind the last weight are zeros. */
uint8_t carrysave_trits(const int8_t weights[CARRYSAVE_TRITS]);

/* Check and start one job, whose operands are cleaned from caches before. */
carrysave_status carrysave_start(carrysave *device, const carrysave_job *job);

/* Check and start several jobs, in order, each of which may read what those before it wrote. Those
 * that differ only in addresses overlap, unless one of four reads what another one writes; if one
 * of them fails, the C of three after it may have been written in part. `ring` is memory for their
 * descriptors, `address` the same memory as the device sees it, at a whole beat; it must stay until
 * they have ended. */
carrysave_status carrysave_start_ring(carrysave *device, const carrysave_job *jobs, uint32_t count,
                                      void *ring, uint64_t address);

/* Run jobs whose descriptors the device sees in memory at an address, a whole beat, as
 * carrysave_describe writes them, and wait for their end. No job is checked here, and no cache
 * written back or dropped: the device refuses what it cannot do. The rest is as carrysave_run's. */
carrysave_status carrysave_run_ready(carrysave *device, uint64_t address, uint32_t count,
                                     uint32_t polls, carrysave_wait_function wait, void *argument,
                                     carrysave_counters *counters);

/* Run jobs in order, and wait for their end: on one start as carrysave_start_ring does, or each on
 * its own if the device has no ring, with the same results; then `ring` may be null. `polls`, of
 * each start, and `wait` are as carrysave_wait's; `counters`, if not null, are of all jobs. Nothing
 * is started if any of them is refused. */
carrysave_status carrysave_run(carrysave *device, const carrysave_job *jobs, uint32_t count,
                               void *ring, uint64_t address, uint32_t polls,
                               carrysave_wait_function wait, void *argument,
                               carrysave_counters *counters);

/* Wait for the end of what was started: at most `polls` polls, 0 for no limit, with a call of
 * `wait`, if not null, between two. After an error or a timeout the device is reset. */
carrysave_status carrysave_wait(carrysave *device, uint32_t polls, carrysave_wait_function wait,
                                void *argument);

/* Drop what caches hold of C, before it is read. */
void carrysave_finish(carrysave *device, const carrysave_job *jobs, uint32_t count);

/* Read what the last start took; 0 after a reset. */
carrysave_status carrysave_read_counters(carrysave *device, carrysave_counters *counters);

/* Name a status, the code of an error, the answer of memory. */
const char *carrysave_status_text(carrysave_status status);
const char *carrysave_error_text(uint32_t code);
const char *carrysave_response_text(uint32_t response);

#ifdef __cplusplus
}
#endif

#endif
