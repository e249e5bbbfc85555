/* Driver of the carrysave matmul co-processor between streams, beside carrysave.h: matrices of the
 * host, and channels of DMAs.
 *
 * Jobs are described, planned and checked as for a device on memory, but for their addresses, which
 * have no meaning. Blocks must be those of carrysave_plan, or the caller's: they say what comes
 * when. There is no ring: each job has a start of its own. */

#ifndef CARRYSAVE_STREAM_H
#define CARRYSAVE_STREAM_H

#include "carrysave.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Streams: of A and its scales, of all else that is read, and of C. */
typedef enum {
    CARRYSAVE_STREAM_A,
    CARRYSAVE_STREAM_B,
    CARRYSAVE_STREAM_C,
    CARRYSAVE_STREAMS
} carrysave_stream;

/* A channel of a DMA; its functions are the caller's. */
typedef struct {
    void *context;
    /* Begin to send bytes, or to fill them. Caches are the caller's to write back, and to drop. */
    void (*transfer)(void *context, uint8_t *bytes, uint64_t count);
    /* Wait until they are sent, or filled; false gives up. */
    bool (*wait)(void *context);
    /* Give up what is under way, and be ready for a transfer. */
    void (*restart)(void *context);
} carrysave_channel;

/* Channels, of which C's stores whole beats whatever their tkeep, and memory that they reach: of
 * each, as many bytes as carrysave_stream_bytes says. */
typedef struct {
    carrysave_channel channels[CARRYSAVE_STREAMS];
    uint8_t *buffers[CARRYSAVE_STREAMS];
} carrysave_streams;

/* Matrices of a job in memory of the host, whose rows are at the job's distances; null for those
 * that the job does not have. */
typedef struct {
    const uint8_t *a, *b, *bias, *records, *a_scales, *b_scales;
    uint8_t *c;
} carrysave_matrices;

/* Count the bytes of a stream, whole beats; 0 for a job without blocks. */
uint64_t carrysave_stream_bytes(const carrysave *device, const carrysave_job *job,
                                carrysave_stream stream);

/* Make the bytes of the stream of A or of B. */
void carrysave_gather(const carrysave *device, const carrysave_job *job,
                      const carrysave_matrices *matrices, carrysave_stream stream, uint8_t *bytes);

/* Make C of the bytes of its stream. */
void carrysave_scatter(const carrysave *device, const carrysave_job *job,
                       const carrysave_matrices *matrices, const uint8_t *bytes);

/* Reset the device, and restart all channels: after carrysave_open, and to drop what is under
 * way. */
carrysave_status carrysave_stream_reset(carrysave *device, const carrysave_streams *streams);

/* Run one job: matrices to streams to C. `polls`, `wait` and `argument` are carrysave_wait's. After
 * an error or a timeout device and channels are reset. */
carrysave_status carrysave_stream_run(carrysave *device, const carrysave_job *job,
                                      const carrysave_matrices *matrices,
                                      const carrysave_streams *streams, uint32_t polls,
                                      carrysave_wait_function wait, void *argument);

#ifdef __cplusplus
}
#endif

#endif
