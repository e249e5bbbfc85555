/* Functions of floats of 32 bits: the same bits as those of golden/single.py. Each sum, product and
 * quotient is rounded once: none of them must be fused. */

#include <string.h>

#include "carrysave_internal.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

CARRYSAVE_NUMBERS(float, uint32_t, 12582912.0f) /* 1.5 * 2^23 */

static float size_of(float x)
{
    return of_bits(to_bits(x) & 0x7FFFFFFFu);
}

static float series(float x, const float *terms, int count)
{
    float total = terms[--count];

    while (count--)
        total = total * x + terms[count];
    return total;
}

static float power_of_e(float x)
{
    static const float terms[] = {
        0.5f, 0.16666576266288757f, 0.04166646674275398f, 0.008363179862499237f,
        0.0013933652080595493f,
    };
    const float inside = x > -87.0f ? (x < 88.0f ? x : 88.0f) : -87.0f;
    const float number = nearest(inside * 1.4426950408889634f);
    float rest = inside - number * 0.693359375f;
    float value;

    if (!(x > -87.0f))
        return 0.0f;
    rest = rest - number * -2.12194440e-4f;
    value = 1.0f + (rest + rest * rest * series(rest, terms, 5));
    return value * of_bits((uint32_t)((int32_t)number + 127) << 23);
}

static float logistic(float x)
{
    return 1.0f / (1.0f + power_of_e(-x));
}

static float tangent(float x)
{
    static const float terms[] = {
        -0.3333333432674408f, 0.1333332508802414f, -0.05396474897861481f, 0.021818896755576134f,
        -0.008528008125722408f, 0.0025285908486694098f,
    };
    const float size = size_of(x), square = size * size;
    float found;

    if (size < 0.55f)
        found = size + size * (square * series(square, terms, 6));
    else
        found = 1.0f - 2.0f / (power_of_e(2.0f * size) + 1.0f);
    return x < 0.0f ? -found : found;
}

static float error_function(float x)
{
    static const float near[] = {
        1.128379225730896f, -0.37612637877464294f, 0.11283782869577408f, -0.026865437626838684f,
        0.005221053492277861f, -0.0008484396385028958f, 0.00011268253729213029f,
        -9.673590284364764e-06f,
    };
    static const float far[] = {
        -0.0001604576245881617f, 0.2850055396556854f, 0.259104460477829f, 0.34980762004852295f,
        -0.10769318044185638f, 0.5681912899017334f, -0.4744580090045929f, 0.12026210874319077f,
    };
    const float size = size_of(x), square = size * size;
    float found = 1.0f;

    if (size < 1.0f)
        found = size * series(square, near, 8);
    else if (size < 4.0f)
        found = 1.0f - power_of_e(-square) * series(1.0f / (1.0f + size * 0.5f), far, 8);
    return x < 0.0f ? -found : found;
}

float carrysave_nearest(float x)
{
    return nearest(x);
}

float carrysave_single(uint32_t which, float x)
{
    switch (which) {
    case CARRYSAVE_EXP: return power_of_e(x);
    case CARRYSAVE_LOGISTIC: return logistic(x);
    case CARRYSAVE_TANH: return tangent(x);
    default: return error_function(x);
    }
}
