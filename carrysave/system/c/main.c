/* Firmware of a system with the co-processor: keeps a network in SDRAM, and runs it.
 *
 * A host writes a program and inputs over the serial line, has the program run, and reads what it
 * made. Programs are those of carrysave/system/program.py: words of 32 bits, with addresses from the
 * start of SDRAM. */

#include <stdbool.h>
#include <string.h>

#include "carrysave.h"
#include "line.h"
#include "platform.h"
#include "system.h"

enum { GATHER = 1, PRODUCT = 2, MOST_JOBS = 8, MEMORY_BITS = 24 };
enum { ADD_BIAS = 1, REQUANTISE = 2, PER_COLUMN = 4, BY_COLUMNS = 8 };

/* A start that takes longer has failed. */
#define MOST_CYCLES 0x40000000u

static uint8_t *const memory = (uint8_t *)MAIN_RAM_BASE;
static volatile bool woken;
static carrysave device;
static carrysave_job jobs[MOST_JOBS];

typedef struct {
    uint32_t steps, ring, scores, count;
} head;

/* What a run answers. */
typedef struct {
    uint32_t cycles, best, status, code;
} outcome;

static uint32_t cycles_now(void)
{
    SYSTEM_REGISTER(TIMER0_UPTIME_LATCH) = 1u;
    return (&SYSTEM_REGISTER(TIMER0_UPTIME_CYCLES))[1]; /* the upper half comes first */
}

/* The line stays up until carrysave_wait has read why: no more of it. */
void interrupted(void)
{
    allow_interrupts(0);
    woken = true;
}

static bool sleep_until_woken(carrysave *of, void *argument)
{
    const uint32_t began = cycles_now();

    (void)of;
    (void)argument;
    woken = false;
    allow_interrupts(1u << MATMUL_INTERRUPT);
    while (!woken)
        if (cycles_now() - began > MOST_CYCLES)
            return false;
    return true;
}

static void start_sdram(void)
{
    static const struct {
        uint16_t address, bank;
        uint8_t command, control;
        uint16_t delay;
    } steps[] = SDRAM_STEPS;
    uint32_t number;

    SYSTEM_REGISTER(SDRAM_DFII_CONTROL) = SDRAM_SOFTWARE;
    for (number = 0; number < sizeof steps / sizeof *steps; number++) {
        uint32_t wait;
        SYSTEM_REGISTER(SDRAM_DFII_PI0_ADDRESS) = steps[number].address;
        SYSTEM_REGISTER(SDRAM_DFII_PI0_BADDRESS) = steps[number].bank;
        if (steps[number].control) {
            SYSTEM_REGISTER(SDRAM_DFII_CONTROL) = steps[number].command;
        } else {
            SYSTEM_REGISTER(SDRAM_DFII_PI0_COMMAND) = steps[number].command;
            SYSTEM_REGISTER(SDRAM_DFII_PI0_COMMAND_ISSUE) = 1u;
        }
        for (wait = steps[number].delay; wait; wait--)
            __asm__ volatile("nop");
    }
    SYSTEM_REGISTER(SDRAM_DFII_CONTROL) = SDRAM_HARDWARE;
}

static uint64_t at(uint32_t offset)
{
    return MAIN_RAM_BASE + offset;
}

/* Each byte is the greatest of `taps` codes: of bytes in memory, or, below 0, constants. */
static const uint32_t *gather(const uint32_t *word)
{
    int8_t *to = (int8_t *)memory + word[0];
    const int32_t *from = (const int32_t *)(memory + word[1]);
    uint32_t count = word[2];
    const uint32_t taps = word[3];

    while (count--) {
        int32_t most = -128;
        uint32_t tap;
        for (tap = 0; tap < taps; tap++, from++) {
            const int8_t code = *from < 0 ? (int8_t)*from : ((const int8_t *)memory)[*from];
            most = code > most ? code : most;
        }
        *to++ = (int8_t)most;
    }
    return word + 4;
}

static const uint32_t *describe(const uint32_t *word, carrysave_job *job)
{
    const uint32_t flags = word[11];

    memset(job, 0, sizeof *job);
    job->m = word[5];
    job->n = word[6];
    job->k = word[7];
    job->a = at(word[0]);
    job->b = at(word[1]);
    job->c = at(word[2]);
    job->bias = at(word[3]);
    job->records = at(word[4]);
    job->lda = word[8];
    job->ldb = word[9];
    job->ldc = word[10];
    job->add_bias = (flags & ADD_BIAS) != 0;
    job->requantise = (flags & REQUANTISE) != 0;
    job->per_column = (flags & PER_COLUMN) != 0;
    job->by_columns = (flags & BY_COLUMNS) != 0;
    job->multiplier = word[12];
    job->shift = word[13];
    job->zero_point = (int32_t)word[14];
    job->low = (int32_t)word[15];
    job->high = (int32_t)word[16];
    job->block_m = word[17];
    job->block_n = word[18];
    job->block_k = word[19];
    return word + 20;
}

static const uint32_t *multiply(const uint32_t *word, const head *program, outcome *found)
{
    const uint32_t count = word[0];
    carrysave_counters *counters = (carrysave_counters *)(memory + word[1]);
    uint32_t number;

    word += 2;
    for (number = 0; number < count && number < MOST_JOBS; number++)
        word = describe(word, &jobs[number]);
    found->status = carrysave_run(&device, jobs, number, memory + program->ring,
                                  at(program->ring), 0, sleep_until_woken, 0, counters);
    found->code = device.error.code;
    return word;
}

static void run(const head *program, outcome *found)
{
    const uint32_t *word = (const uint32_t *)(program + 1);
    const int8_t *scores = (const int8_t *)memory + program->scores;
    const uint32_t began = cycles_now();
    uint32_t left;

    memset(found, 0, sizeof *found);
    for (left = program->steps; left && found->status == CARRYSAVE_OK; left--) {
        const uint32_t kind = *word++;
        word = kind == GATHER ? gather(word) : multiply(word, program, found);
    }
    for (left = 1; left < program->count; left++)
        if (scores[left] > scores[found->best])
            found->best = left;
    found->cycles = cycles_now() - began;
}

static bool within(const request *asked)
{
    return asked->address + (asked->value & 0xFFFFu) <= 1u << MEMORY_BITS;
}

static uint8_t *place(const request *asked)
{
    return within(asked) ? memory + asked->address : 0;
}

int main(void)
{
    static const uint8_t bits = MEMORY_BITS;
    bool claimed = false;
    carrysave_status status;

    start_sdram();
    status = carrysave_open(&device, (volatile void *)MATMUL_BASE, 0);
    carrysave_interrupt(&device, true);
    SYSTEM_REGISTER(MATMUL_EV_ENABLE) = 1u;
    allow_interrupts(0);
    take_interrupts();
    for (;;) {
        const request asked = line_request(place);
        const uint8_t fresh = claimed ? 0 : RESET;
        outcome found;

        if (asked.command == CLAIM)
            claimed = true;
        if (asked.command <= CLAIM) {
            line_answer(&asked, &bits, 1, fresh);
        } else if (asked.command == READ && claimed && within(&asked)) {
            line_answer(&asked, memory + asked.address, asked.value & 0xFFFFu, 0);
        } else if (asked.command == WRITE && claimed) {
            line_answer(&asked, 0, 0, 0);
        } else if (asked.command == RUN && claimed && status == CARRYSAVE_OK) {
            run((const head *)(memory + asked.address), &found);
            line_answer(&asked, (const uint8_t *)&found, sizeof found, 0);
        } else {
            memset(&found, 0, sizeof found);
            found.status = status;
            line_answer(&asked, (const uint8_t *)&found, asked.command == RUN ? sizeof found : 0,
                        fresh | FAILED);
        }
    }
}
