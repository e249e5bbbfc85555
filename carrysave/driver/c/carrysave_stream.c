#include "carrysave_stream.h"

#include <string.h>

#include "carrysave_internal.h"

typedef struct {
    uint32_t start, stop;
} range;

/* A stream that is walked along: of each part of a row, what is to be done with it. */
typedef struct {
    const carrysave *device;
    const carrysave_job *job;
    const carrysave_matrices *matrices;
    carrysave_stream stream;
    uint8_t *in;        /* bytes to be made; null: none */
    const uint8_t *out; /* bytes of C; null: none */
    uint64_t at;
} cursor;

static range cut(uint32_t size, uint32_t part, uint32_t number)
{
    range found;
    found.start = number * part;
    found.stop = size - found.start < part ? size : found.start + part;
    return found;
}

static carrysave_stream stream_of(int which)
{
    if (which == OUT_C)
        return CARRYSAVE_STREAM_C;
    return which == IN_A || which == IN_A_SCALES ? CARRYSAVE_STREAM_A : CARRYSAVE_STREAM_B;
}

/* Parts of rows of a matrix, if it is on this stream: bytes that have some of the columns. */
static void move(cursor *cursor, int which, range rows, range columns)
{
    const carrysave_matrices *all = cursor->matrices;
    const matrix of = carrysave_matrix(cursor->device, cursor->job, which);
    const uint64_t first = (uint64_t)columns.start * of.bits / 8u;
    const uint64_t bytes = ((uint64_t)columns.stop * of.bits + 7u) / 8u - first;
    const uint64_t beat = cursor->device->info.data_width / 8u;
    const uint64_t beats = (bytes + beat - 1u) / beat * beat;
    uint32_t row;

    if (!of.rows || stream_of(which) != cursor->stream)
        return;
    for (row = rows.start; row < rows.stop; row++, cursor->at += beats) {
        const size_t place = (size_t)((uint64_t)row * of.distance + first);
        if (cursor->in) {
            const uint8_t *const from[MATRICES] = {
                all->a, all->b, NULL, all->bias, all->records, all->a_scales, all->b_scales,
            };
            memcpy(cursor->in + cursor->at, from[which] + place, (size_t)bytes);
            memset(cursor->in + cursor->at + bytes, 0, (size_t)(beats - bytes));
        } else if (cursor->out) {
            memcpy(all->c + place, cursor->out + cursor->at, (size_t)bytes);
        }
    }
}

/* All parts of rows in order, which is that of golden/soc/blocking.py; returns their bytes. */
static uint64_t walk(cursor cursor)
{
    const carrysave_info *info = &cursor.device->info;
    const carrysave_job *job = cursor.job;
    const uint32_t up = job->block_m * info->tile_m, across = job->block_n * info->tile_n;
    const words w = words_of(cursor.device, job);
    const uint32_t deep = job->block_k * info->tile_k, k = w.k;
    const uint32_t each = job->mode.block ? job->mode.block / job->mode.codes : 1u;
    const range one = {0u, 1u};
    uint64_t number;
    uint32_t ups, acrosses, depth;

    if (!up || !across || !deep)
        return 0u;
    ups = ceil_div(job->m, up);
    acrosses = ceil_div(job->n, across);
    for (number = 0; number < (uint64_t)ups * acrosses; number++) {
        const uint32_t i = (uint32_t)(job->by_columns ? number % ups : number / acrosses);
        const uint32_t j = (uint32_t)(job->by_columns ? number / ups : number % acrosses);
        const range rows = cut(job->m, up, i), columns = cut(job->n, across, j);
        /* What is the same as for the block before is not sent again. */
        const bool kept_a = deep >= k && !job->by_columns && j;
        const bool kept_b = deep >= k && job->by_columns && i;
        move(&cursor, IN_BIAS, one, columns);
        move(&cursor, IN_RECORDS, one, columns);
        for (depth = 0; depth < ceil_div(k, deep); depth++) {
            const range along = cut(k, deep, depth);
            range scales, of_b;
            scales.start = along.start / each;
            scales.stop = ceil_div(along.stop, each);
            of_b.start = along.start / w.b_deep;
            of_b.stop = ceil_div(along.stop, w.b_deep);
            if (!kept_a) {
                move(&cursor, IN_A, rows, along);
                move(&cursor, IN_A_SCALES, rows, scales);
            }
            if (!kept_b) {
                move(&cursor, IN_B, of_b, columns);
                move(&cursor, IN_B_SCALES, scales, columns);
            }
        }
        move(&cursor, OUT_C, rows, columns);
    }
    return cursor.at;
}

uint64_t carrysave_stream_bytes(const carrysave *device, const carrysave_job *job,
                                carrysave_stream stream)
{
    const cursor found = {device, job, NULL, stream, NULL, NULL, 0u};
    return walk(found);
}

void carrysave_gather(const carrysave *device, const carrysave_job *job,
                      const carrysave_matrices *matrices, carrysave_stream stream, uint8_t *bytes)
{
    const cursor found = {device, job, matrices, stream, bytes, NULL, 0u};
    walk(found);
}

void carrysave_scatter(const carrysave *device, const carrysave_job *job,
                       const carrysave_matrices *matrices, const uint8_t *bytes)
{
    const cursor found = {device, job, matrices, CARRYSAVE_STREAM_C, NULL, bytes, 0u};
    walk(found);
}

carrysave_status carrysave_stream_reset(carrysave *device, const carrysave_streams *streams)
{
    const carrysave_status status = carrysave_reset(device);
    int stream;

    /* Behind the device, which until then still sends, and takes, what was begun. */
    for (stream = 0; status == CARRYSAVE_OK && stream < CARRYSAVE_STREAMS; stream++)
        streams->channels[stream].restart(streams->channels[stream].context);
    return status;
}

carrysave_status carrysave_stream_run(carrysave *device, const carrysave_job *job,
                                      const carrysave_matrices *matrices,
                                      const carrysave_streams *streams, uint32_t polls,
                                      carrysave_wait_function wait, void *argument)
{
    carrysave_status status = carrysave_check(device, job);
    carrysave_status reset;
    int stream;

    if (status != CARRYSAVE_OK)
        return status;
    if (!device->info.stream)
        return CARRYSAVE_BAD_MODE;
    if (!job->block_m || !job->block_n || !job->block_k)
        return CARRYSAVE_BAD_BLOCK;
    if (carrysave_is_busy(device))
        return CARRYSAVE_BUSY;
    carrysave_gather(device, job, matrices, CARRYSAVE_STREAM_A,
                     streams->buffers[CARRYSAVE_STREAM_A]);
    carrysave_gather(device, job, matrices, CARRYSAVE_STREAM_B,
                     streams->buffers[CARRYSAVE_STREAM_B]);
    for (stream = CARRYSAVE_STREAMS - 1; stream >= 0; stream--) {
        const carrysave_channel *channel = &streams->channels[stream];
        channel->transfer(channel->context, streams->buffers[stream],
                          carrysave_stream_bytes(device, job, (carrysave_stream)stream));
    }
    status = carrysave_start(device, job);
    if (status == CARRYSAVE_OK)
        status = carrysave_wait(device, polls, wait, argument);
    for (stream = 0; status == CARRYSAVE_OK && stream < CARRYSAVE_STREAMS; stream++)
        if (!streams->channels[stream].wait(streams->channels[stream].context))
            status = CARRYSAVE_TIMEOUT;
    if (status == CARRYSAVE_OK) {
        carrysave_scatter(device, job, matrices, streams->buffers[CARRYSAVE_STREAM_C]);
        return CARRYSAVE_OK;
    }
    reset = carrysave_stream_reset(device, streams);
    return reset == CARRYSAVE_OK ? status : reset;
}
