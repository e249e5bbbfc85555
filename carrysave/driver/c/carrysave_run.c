#include <string.h>

#include "carrysave_internal.h"

void carrysave_add_counters(carrysave_counters *sum, const carrysave_counters *to_add)
{
    sum->cycles += to_add->cycles;
    sum->compute += to_add->compute;
    sum->stall_load += to_add->stall_load;
    sum->stall_store += to_add->stall_store;
    sum->read_beats += to_add->read_beats;
    sum->write_beats += to_add->write_beats;
    sum->macs += to_add->macs;
}

carrysave_status carrysave_run(carrysave *device, const carrysave_job *jobs, uint32_t count,
                               void *ring, uint64_t address, uint32_t polls,
                               carrysave_wait_function wait, void *argument,
                               carrysave_counters *counters)
{
    const bool together = device->info.ring && count != 1u;
    carrysave_status status = count ? CARRYSAVE_OK : CARRYSAVE_BAD_RING;
    carrysave_counters own;
    uint32_t done;

    device->jobs_done = 0u;
    if (counters)
        memset(counters, 0, sizeof *counters);
    for (done = 0; status == CARRYSAVE_OK && done < count; done++)
        status = carrysave_check(device, &jobs[done]);
    for (done = 0; status == CARRYSAVE_OK && done < count; done += together ? count : 1u) {
        status = together ? carrysave_start_jobs(device, jobs, count, ring, address, true)
                          : carrysave_start_checked(device, &jobs[done]);
        if (status != CARRYSAVE_OK)
            break;
        status = carrysave_wait(device, polls, wait, argument);
        if (status == CARRYSAVE_FAILED || status == CARRYSAVE_SILENT)
            device->error.job += done;
        /* Before what caches hold of C is written back, as A of the next. */
        carrysave_finish(device, &jobs[done], device->jobs_done);
        device->jobs_done += done;
        if (counters && status == CARRYSAVE_OK) {
            status = carrysave_read_counters(device, &own);
            carrysave_add_counters(counters, &own);
        }
    }
    return status;
}

carrysave_status carrysave_run_ready(carrysave *device, uint64_t address, uint32_t count,
                                     uint32_t polls, carrysave_wait_function wait, void *argument,
                                     carrysave_counters *counters)
{
    carrysave_status status;

    device->jobs_done = 0u;
    if (counters)
        memset(counters, 0, sizeof *counters);
    status = carrysave_start_ready(device, address, count);
    if (status == CARRYSAVE_OK)
        status = carrysave_wait(device, polls, wait, argument);
    return status == CARRYSAVE_OK && counters ? carrysave_read_counters(device, counters) : status;
}
