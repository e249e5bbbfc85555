/* Runs programs: networks compiled to jobs of the co-processor, and moves of codes between them.
 *
 * A program is words of 32 bits in the memory that it works on, as `carrysave compile` writes them:
 * the count of its steps, room for descriptors, the codes of its last product and their count, the
 * table of its parameters, then the steps. Addresses are from the start of that memory.
 *
 * A parameter is a number that is chosen for each run, such as the position of a token: write it as
 * a word of 32 bits to its address, which the program's header has, and the next run is of it. */

#ifndef CARRYSAVE_PROGRAM_H
#define CARRYSAVE_PROGRAM_H

#include "carrysave.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CARRYSAVE_PROGRAM_JOBS 8u /* of a start, at most: more take several */

/* Run the program at `start` of `memory`, which the device has at `base`: both at whole beats.
 * Jobs are awaited by `wait`, as carrysave_wait has it. A program that the driver does not know is
 * CARRYSAVE_BAD_RING, a parameter out of its range CARRYSAVE_BAD_PARAMETER; what a job is refused for, or fails of, is as carrysave_run has it. */
carrysave_status carrysave_program_run(carrysave *device, uint8_t *memory, uint64_t base,
                                       uint32_t start, carrysave_wait_function wait,
                                       void *argument);

#ifdef __cplusplus
}
#endif

#endif
