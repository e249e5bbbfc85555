/* Firmware of a system with the co-processor: keeps a network in SDRAM, and runs it.
 *
 * A host writes a program and inputs over the serial line, has the program run, and reads what it
 * made. Programs are those of carrysave/compiler/program: words of 32 bits, with addresses from the
 * start of SDRAM. */

#include <stdbool.h>
#include <string.h>

#include "carrysave_program.h"
#include "line.h"
#include "platform.h"
#include "system.h"

/* Times that registers are read for the end of a start, before the processor waits for the interrupt:
 * the way in and out of that takes as long as a small job. */
#define MOST_POLLS 256u

/* A start that takes longer has failed. */
#define MOST_CYCLES 0x40000000u

static uint8_t *const memory = (uint8_t *)MAIN_RAM_BASE;
static volatile bool woken;
static uint32_t polls;
static carrysave device;

typedef struct {
    uint32_t steps, ring, scores, count, parameters;
} head;

/* What a run answers. */
typedef struct {
    uint32_t cycles, best, status, code, moves;
} outcome;

/* Steps of a program that the processor does itself. */
enum { NONE, MOVE, START, FLOATS, RING };

/* Of the step that runs, if the processor does it: when it began; and of those before. */
static struct {
    uint32_t since, moves;
    bool runs;
} step;

static uint32_t cycles_now(void)
{
    SYSTEM_REGISTER(TIMER0_UPTIME_LATCH) = 1u;
    return (&SYSTEM_REGISTER(TIMER0_UPTIME_CYCLES))[1]; /* the upper half comes first */
}

void step_begins(uint32_t kind)
{
    const bool begins = kind == MOVE || kind == FLOATS;
    const uint32_t now = step.runs || begins ? cycles_now() : 0u;

    if (step.runs)
        step.moves += now - step.since;
    step.runs = begins;
    step.since = now;
}

/* The line stays up until carrysave_wait has read why: no more of it. */
void interrupted(void)
{
    allow_interrupts(0);
    woken = true;
}

static bool sleep_until_woken(carrysave *of, void *argument)
{
    uint32_t began;

    (void)of;
    (void)argument;
    if (++polls % MOST_POLLS)
        return true;
    began = cycles_now();
    woken = false;
    allow_interrupts(1u << MATMUL_INTERRUPT);
    while (!woken)
        if (cycles_now() - began > MOST_CYCLES)
            return false;
    return true;
}

/* Where there are no steps a machine has started it before the processor runs. */
static void start_sdram(void)
{
#ifdef SDRAM_STEPS
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
#endif
}

static void run(uint32_t start, outcome *found)
{
    const head *program = (const head *)(memory + start);
    const int8_t *scores = (const int8_t *)memory + program->scores;
    const uint32_t count = program->count, began = cycles_now();
    uint32_t number, best = 0;

    memset(found, 0, sizeof *found);
    memset(&step, 0, sizeof step);
    polls = 0u;
    found->status = carrysave_program_run(&device, memory, MAIN_RAM_BASE, start, sleep_until_woken, 0);
    found->code = device.error.code;
    found->moves = step.moves;
    for (number = 1; number < count; number++)
        if (scores[number] > scores[best])
            best = number;
    found->best = best;
    found->cycles = cycles_now() - began;
}

/* A frame has 24 bits of an address; more are above a count of 16 bits in its value. */
static uint32_t address_of(const request *asked)
{
    return asked->address | (asked->value >> 16 & 0xFFu) << 24;
}

static bool within(const request *asked)
{
    return address_of(asked) + (asked->value & 0xFFFFu) <= MAIN_RAM_SIZE;
}

static uint8_t *place(const request *asked)
{
    return within(asked) ? memory + address_of(asked) : 0;
}

int main(void)
{
    static const uint8_t bits = __builtin_ctz(MAIN_RAM_SIZE);
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
            line_answer(&asked, memory + address_of(&asked), asked.value & 0xFFFFu, 0);
        } else if (asked.command == WRITE && claimed) {
            line_answer(&asked, 0, 0, 0);
        } else if (asked.command == RUN && claimed && status == CARRYSAVE_OK) {
            run(address_of(&asked), &found);
            line_answer(&asked, (const uint8_t *)&found, sizeof found, 0);
        } else {
            memset(&found, 0, sizeof found);
            found.status = status;
            line_answer(&asked, (const uint8_t *)&found, asked.command == RUN ? sizeof found : 0,
                        fresh | FAILED);
        }
    }
}
