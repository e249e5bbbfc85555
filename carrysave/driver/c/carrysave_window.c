#include "carrysave_internal.h"

/* Windows of a map, as golden/soc/window.py has them. */

#define MOST_MAP 0x10000u
#define MOST_KERNEL 0x100u
#define MOST_STEP 15u
#define MOST_EDGE 0xFFu

static bool within(uint32_t value, uint32_t low, uint32_t high)
{
    return value >= low && value <= high;
}

/* Bytes of a row of the map. */
static uint64_t map_row(const carrysave_window *window)
{
    return (uint64_t)(window->width - 1u) * window->pixel + window->channels;
}

matrix carrysave_map(const carrysave_job *job)
{
    const uint64_t bytes = map_row(&job->window);
    matrix of;
    of.address = job->a;
    of.rows = job->window.height;
    of.columns = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    of.bits = 8u;
    of.distance = job->lda;
    return of;
}

carrysave_status carrysave_check_sizes(const carrysave_window *window)
{
    return within(window->height, 1u, MOST_MAP) && within(window->width, 1u, MOST_MAP)
            && within(window->across, 1u, MOST_MAP) && within(window->channels, 1u, MOST_MAP - 1u)
            && within(window->kernel[0], 1u, MOST_KERNEL)
            && within(window->kernel[1], 1u, MOST_KERNEL)
        ? CARRYSAVE_OK
        : CARRYSAVE_BAD_DIMENSION;
}

/* Steps, edges and the code beyond them. */
static carrysave_status check_steps(const carrysave_window *window)
{
    int axis;

    for (axis = 0; axis < 2; axis++)
        if (!within(window->strides[axis], 1u, MOST_STEP)
            || !within(window->dilations[axis], 1u, MOST_STEP) || window->first[axis] > MOST_EDGE)
            return CARRYSAVE_BAD_WINDOW;
    return window->fill > MOST_EDGE || window->pixel < window->channels ? CARRYSAVE_BAD_WINDOW
                                                                        : CARRYSAVE_OK;
}

carrysave_status carrysave_check_window(const carrysave_job *job)
{
    const carrysave_window *window = &job->window;
    const uint64_t codes = (uint64_t)window->kernel[0] * window->kernel[1] * window->channels;

    if (check_steps(window) != CARRYSAVE_OK || job->k != codes)
        return CARRYSAVE_BAD_WINDOW;
    return map_row(window) > UINT32_MAX ? CARRYSAVE_BAD_ROW : CARRYSAVE_OK;
}

carrysave_status carrysave_check_channels(const carrysave *device, const carrysave_job *job)
{
    const carrysave_window *window = &job->window;
    const uint32_t lanes = device->info.vector.lanes;
    const uint32_t whole = ceil_div(window->channels, lanes) * lanes;
    const carrysave_info *info = &device->info;
    const uint32_t columns = info->sums / info->tile_n / info->tile_m * info->tile_n;
    const carrysave_status steps = check_steps(window);

    if (steps != CARRYSAVE_OK || job->n != window->channels || window->pixel != whole)
        return CARRYSAVE_BAD_WINDOW;
    return job->n > columns || job->n > info->vector.length ? CARRYSAVE_BAD_LENGTH : CARRYSAVE_OK;
}

bool carrysave_depthwise_fits(const carrysave *device, const carrysave_job *job)
{
    const carrysave_vector_unit *unit = &device->info.vector;
    const carrysave_window *window = &job->window;
    const uint32_t groups = ceil_div(window->channels, unit->lanes);
    const uint32_t passes = ceil_div(window->kernel[1], device->info.taps);
    uint32_t most = window->kernel[0] * passes;

    if (window->across > most)
        most = window->across;
    if (window->dilations[1] > most)
        most = window->dilations[1];
    return (uint64_t)groups * most <= ceil_div(unit->length, unit->lanes)
        && map_row(window) <= 2u * (uint64_t)unit->length;
}

uint32_t carrysave_window_mode(const carrysave_job *job)
{
    return (uint32_t)job->of_windows << SHIFT(JOB__MODE__WINDOW);
}

void carrysave_read_window(const uint32_t words[5], carrysave_window *window)
{
    window->height = (words[0] & 0xFFFFu) + 1u;
    window->width = (words[0] >> 16) + 1u;
    window->across = (words[1] & 0xFFFFu) + 1u;
    window->channels = words[1] >> 16;
    window->kernel[0] = (words[2] & MOST_EDGE) + 1u;
    window->kernel[1] = (words[2] >> 8 & MOST_EDGE) + 1u;
    window->first[0] = (0u - (words[2] >> 16)) & MOST_EDGE;
    window->first[1] = (0u - (words[2] >> 24)) & MOST_EDGE;
    window->strides[0] = words[3] & MOST_STEP;
    window->strides[1] = words[3] >> 4 & MOST_STEP;
    window->dilations[0] = words[3] >> 8 & MOST_STEP;
    window->dilations[1] = words[3] >> 12 & MOST_STEP;
    window->fill = words[3] >> 16 & MOST_EDGE;
    window->pixel = words[4];
}

void carrysave_window_words(const carrysave_window *window, uint32_t words[4])
{
    words[0] = (window->height - 1u) | (window->width - 1u) << 16;
    words[1] = (window->across - 1u) | window->channels << 16;
    words[2] = (window->kernel[0] - 1u) | (window->kernel[1] - 1u) << 8
        | ((0u - window->first[0]) & MOST_EDGE) << 16 | ((0u - window->first[1]) & MOST_EDGE) << 24;
    words[3] = window->strides[0] | window->strides[1] << 4 | window->dilations[0] << 8
        | window->dilations[1] << 12 | window->fill << 16;
}
