/* The C driver on devices whose registers may say anything. Each line of the input is a device: how
 * many registers it changes, and their places and values; the first line is of all of one that is
 * right. Each is opened, and used in all ways if it opens; its status is printed. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "carrysave_internal.h"

#define WORDS 1024u
#define RING 3u

static uint32_t right[WORDS], said[WORDS], noise = 1u;
static bool noisy;

static uint32_t next(void)
{
    noise = noise * 1664525u + 1013904223u;
    return noise >> 8;
}

uint32_t any_read(uint32_t offset)
{
    /* Once it is open, status registers say anything, too. */
    if (offset == offsetof(carrysave_coprocessor_t, CTRL))
        return noisy ? next() & 0xEu : 4u;
    if (noisy && offset / 4u < WORDS && offset >= offsetof(carrysave_coprocessor_t, GIER))
        return next();
    return offset / 4u < WORDS ? said[offset / 4u] : 0u;
}

static void use_job(carrysave *device, carrysave_job *job)
{
    static uint8_t ring[RING * CARRYSAVE_DESCRIPTOR_BYTES];
    carrysave_job many[RING];
    carrysave_counters counters;
    uint32_t number;

    carrysave_plan(device, job);
    job->a = next();
    job->b = (uint64_t)next() << 20;
    job->c = device->info.scratch_base + next() % 9u;
    (void)carrysave_check(device, job);
    if (carrysave_start(device, job) == CARRYSAVE_OK)
        (void)carrysave_wait(device, 3u, NULL, NULL);
    for (number = 0; number < RING; number++)
        many[number] = *job;
    (void)carrysave_run(device, many, RING, ring, 64u, 3u, NULL, NULL, &counters);
    carrysave_finish(device, many, RING);
    (void)carrysave_read_counters(device, &counters);
}

static void use(carrysave *device)
{
    static const uint32_t sizes[] = {1u, 2u, 5u, 64u, 300u};
    uint32_t number, operation;
    carrysave_job job;

    noisy = true;
    for (number = 0; number < 12u; number++) {
        const uint32_t m = sizes[next() % 5u], n = sizes[next() % 5u], k = sizes[next() % 5u];
        carrysave_job_init(device, &job, m, n, k, number & 1u);
        job.add_bias = number & 2u;
        job.accumulate = number & 4u;
        use_job(device, &job);
    }
    for (operation = 1; operation <= CARRYSAVE_GATHER + 1u; operation++) {
        (void)carrysave_vector_most(device, operation);
        carrysave_job_init_vector(device, &job, operation, sizes[next() % 5u], 64u,
                                  1u + next() % 2u);
        use_job(device, &job);
    }
    noisy = false;
}

int main(void)
{
    uint32_t count, offset, value;
    bool first = true;
    carrysave device;

    while (scanf("%" SCNu32, &count) == 1) {
        memcpy(said, right, sizeof said);
        for (; count && scanf("%" SCNu32 " %" SCNu32, &offset, &value) == 2; count--)
            said[offset / 4u % WORDS] = value;
        if (first)
            memcpy(right, said, sizeof said);
        first = false;
        const carrysave_status status = carrysave_open(&device, NULL, NULL);
        if (status == CARRYSAVE_OK)
            use(&device);
        printf("%d\n", (int)status);
    }
    return 0;
}
