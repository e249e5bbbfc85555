/* Steps of a program on floats: numbers are read as doubles, and rounded as IEEE 754 has it. Sums
 * and products must not be fused: compile with -ffp-contract=off. */

#include <string.h>

#include "carrysave_internal.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

typedef enum { NONE, I8, I16, I32, F16, F32, F64, POWER, FRACTION } format;

enum {
    COPY = 1, HALF_UP, ROOT, ADD, SUBTRACT, MULTIPLY, DIVIDE, GREATEST, LEAST, SUM, BITS, SIGMOID,
    ALIGN, GROUPS, PRODUCT, QUOTIENT, MAXIMUM, MINIMUM, DECODE = 23, ENCODE, LOOK_UP
};
enum { HEAD = 8, PART = 4, LOOPS = 6, OPERANDS = 6, LEAST_POWER = -60, MOST_EXPONENT = 127 };
enum { SMALL = 1 << 20 }; /* Floats of 32 bits have such integers, and round to them. */

#define MANTISSA ((UINT64_C(1) << 52) - 1u)
#define HIDDEN (UINT64_C(1) << 52)

CARRYSAVE_NUMBERS(double, uint64_t, 6755399441055744.0) /* 1.5 * 2^52 */

typedef struct {
    uint8_t *at;
    format kind;
    uint32_t row, column; /* bytes, modulo 2^32 */
} operand;

/* A step's words. */
typedef struct {
    uint32_t rows, columns, width;
    int32_t shift, low, high;
    operand out, a, b, powers, ones, offsets;
} step;

/* 2^exponent, of -1022..1023. */
static double power(int32_t exponent)
{
    return of_bits((uint64_t)(uint32_t)(exponent + 1023) << 52);
}

/* A number times 2^shift: a small processor takes long for each product. */
static double scaled(double value, int32_t shift)
{
    return shift ? value * power(shift) : value;
}

/* The exponent e of a number 2^e * 1.x; of 0 and of subnormal numbers one that is less than others. */
static int32_t exponent_of(double value)
{
    return (int32_t)(to_bits(value) >> 52 & 0x7FFu) - 1023;
}

/* The root to the nearest: digit by digit, to one more than it has. */
static double root(double value)
{
    const int32_t exponent = exponent_of(value), odd = exponent & 1;
    const uint64_t number = ((to_bits(value) & MANTISSA) | HIDDEN) << odd;
    uint64_t digits = 0, rest = 0;
    int place;

    if (!(value > 0))
        return 0;
    for (place = 52; place >= -54; place -= 2) {
        rest = rest << 2 | (place >= 0 ? number >> place & 3u : 0u);
        digits <<= 1;
        if (rest > 2 * digits) {
            rest -= 2 * digits + 1;
            digits++;
        }
    }
    digits = (digits >> 1) + (digits & 1u);
    return (double)digits * power((exponent - odd) / 2 - 52);
}

static double of_half(uint32_t half)
{
    const double sign = half >> 15 ? -1.0 : 1.0;
    const uint32_t exponent = half >> 10 & 0x1Fu, mantissa = half & 0x3FFu;

    if (!exponent)
        return sign * mantissa * power(-24);
    return sign * (0x400u + mantissa) * power((int32_t)exponent - 25);
}

static uint16_t to_half(double value)
{
    const uint16_t sign = (uint16_t)(to_bits(value) >> 63 << 15);
    const double size = value < 0 ? -value : value;
    int32_t exponent = exponent_of(size);

    if (!(size < 65520.0)) /* too large, or no number */
        return (uint16_t)(sign | (size >= 65520.0 ? 0x7C00u : 0x7E00u));
    if (exponent < -14)
        exponent = -14;
    /* A mantissa that is rounded up to the next power of two raises the exponent. */
    return (uint16_t)(sign | (((uint32_t)(exponent + 14) << 10)
                              + (uint32_t)nearest(size * power(10 - exponent))));
}

static int32_t integer(const uint8_t *at, format kind)
{
    int16_t two;
    int32_t four;

    if (kind == I8)
        return *(const int8_t *)at;
    if (kind == I16 || kind == FRACTION) {
        memcpy(&two, at, sizeof two);
        return two;
    }
    memcpy(&four, at, sizeof four);
    return four;
}

static double load(const operand *of, uint32_t row, uint32_t column)
{
    const uint8_t *at = of->at + (row * of->row + column * of->column);
    uint16_t half;
    float single;
    double value;

    switch (of->kind) {
    case F16: memcpy(&half, at, sizeof half); return of_half(half);
    case F32: memcpy(&single, at, sizeof single); return single;
    case F64: memcpy(&value, at, sizeof value); return value;
    case POWER: return power(integer(at, POWER));
    case FRACTION: return power(-integer(at, FRACTION));
    default: return integer(at, of->kind);
    }
}

static int32_t limited(double value, int32_t low, int32_t high)
{
    if (!(value > low))
        return low;
    return value < high ? (int32_t)nearest(value) : high;
}

static int32_t at_least(int32_t one, int32_t other)
{
    return one > other ? one : other;
}

/* The greatest integer of a format, and the limits of a step within it. */
static int32_t most_of(format kind)
{
    return kind == I8 ? 127 : kind == I16 ? 32767 : INT32_MAX;
}

static int32_t least_of(const step *by, format kind)
{
    return at_least(by->low, -most_of(kind) - 1);
}

static int32_t greatest_of(const step *by, format kind)
{
    return by->high < most_of(kind) ? by->high : most_of(kind);
}

static void store_integer(uint8_t *at, format kind, int32_t four)
{
    const int16_t two = (int16_t)four;

    if (kind == I8)
        *at = (uint8_t)four;
    else if (kind == I16)
        memcpy(at, &two, sizeof two);
    else
        memcpy(at, &four, sizeof four);
}

static void store(const operand *of, const step *by, uint32_t row, uint32_t column, double value)
{
    uint8_t *at = of->at + (row * of->row + column * of->column);
    uint16_t half;
    float single;

    switch (of->kind) {
    case F16: half = to_half(value); memcpy(at, &half, sizeof half); return;
    case F32: single = (float)value; memcpy(at, &single, sizeof single); return;
    case F64: memcpy(at, &value, sizeof value); return;
    default:
        store_integer(at, of->kind,
                      limited(value, least_of(by, of->kind), greatest_of(by, of->kind)));
    }
}

/* Of an integer in units of 2^-shift, as golden.npe.elements has it. */
static int32_t sigmoid(const step *by, int32_t x)
{
    const int32_t size = x < 0 ? -x : x, one = 1 << by->shift, gate = 1 << by->width;
    /* Times 1.4375, rounded down as numbers below 0 are. */
    const int32_t argument = size + ((size + 1) >> 1) - ((size + 15) >> 4);
    const int32_t whole = argument / one, mantissa = one * (whole + 2) - argument;
    const int32_t places = whole < 31 ? whole : 31;
    const uint32_t small = (uint32_t)mantissa << (by->width - (uint32_t)by->shift - 1) >> places;
    /* Far from the next integer, if it is none: rounding does not reach it. */
    const int32_t factor = (int32_t)((double)by->high * gate / (double)((uint32_t)gate + small));

    return x < 0 ? by->high - factor : factor;
}

static double pair(uint32_t operation, double a, double b)
{
    switch (operation) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MULTIPLY: return a * b;
    case QUOTIENT: return a / b;
    case MAXIMUM: return a > b ? a : b;
    case MINIMUM: return a < b ? a : b;
    default: return b > 0 ? a / b : a;
    }
}

static double product(const step *by, uint32_t row, uint32_t column)
{
    double total = 0;
    uint32_t place;

    for (place = 0; place < by->width; place++)
        total += load(&by->a, row, place) * load(&by->b, place, column);
    return total;
}

/* An integer of a quotient that is rounded to 32 bits first. */
static double encoded(const step *by, double quotient)
{
    return (double)limited((float)quotient, by->low - by->shift, by->high - by->shift) + by->shift;
}

static double one_of(const step *by, uint32_t operation, uint32_t row, uint32_t column)
{
    const double a = load(&by->a, row, column);
    double whole;

    switch (operation) {
    case COPY: return scaled(a, by->shift);
    case ROOT: return scaled(root(a), by->shift);
    case BITS:
        return integer(by->a.at + (row * by->a.row + column * by->a.column), by->a.kind)
               >> by->shift & (int32_t)((1u << by->width) - 1);
    case PRODUCT: return product(by, row, column);
    case SIGMOID: return sigmoid(by, (int32_t)a);
    case HALF_UP:
        whole = nearest(a * power(by->shift) + 0.5);
        return whole > a * power(by->shift) + 0.5 ? whole - 1 : whole;
    case DECODE: return (a + by->shift) * load(&by->b, row, column);
    case ENCODE: return encoded(by, a / load(&by->b, row, column));
    case CARRYSAVE_EXP:
    case CARRYSAVE_LOGISTIC:
    case CARRYSAVE_TANH:
    case CARRYSAVE_ERF: return scaled((double)carrysave_single(operation, (float)a), by->shift);
    default: return scaled(pair(operation, a, load(&by->b, row, column)), by->shift);
    }
}

static void reduce(const step *by, uint32_t operation, uint32_t row)
{
    double found = load(&by->a, row, 0);
    uint32_t column;

    for (column = 1; column < by->columns; column++) {
        const double other = load(&by->a, row, column);
        if (operation == SUM)
            found += other;
        else if (operation == GREATEST ? other > found : other < found)
            found = other;
    }
    store(&by->out, by, row, 0, scaled(found + 0.0, by->shift)); /* no 0 has a sign */
}

static bool is_code(format kind)
{
    return kind == I8 || kind == I16;
}

static bool is_integer(format kind)
{
    return is_code(kind) || kind == I32;
}

static int32_t clamped(int64_t value, int32_t low, int32_t high)
{
    return value > low ? value < high ? (int32_t)value : high : low;
}

static uint32_t bits_at(const operand *of, uint32_t row, uint32_t column)
{
    uint32_t bits;

    memcpy(&bits, of->at + (row * of->row + column * of->column), sizeof bits);
    return bits;
}

/* A number over 2^places, to the nearest, halves to the even one. */
static int64_t over(int64_t number, uint32_t places)
{
    const int64_t whole = number >> places;
    const int64_t below = (int64_t)((uint64_t)whole << places); /* what is negative is not shifted */
    const int64_t twice = (number - below) * 2, one = (int64_t)1 << places;

    return whole + (twice > one || (twice == one && (whole & 1)));
}

/* The integer next to a float of 32 bits, by its bits, times 2^shift; of large ones, one so large. */
static int64_t integer_of(uint32_t bits, int32_t shift)
{
    const int32_t places = 150 - shift - (int32_t)(bits >> 23 & 0xFFu);
    const int64_t number = (bits & 0x7FFFFFu) | 0x800000u;
    int64_t size = 0;

    if (places <= 0)
        size = places < -32 ? INT64_MAX / 2 : number << -places;
    else if (places <= 24)
        size = over(number, (uint32_t)places);
    return bits >> 31 ? -size : size;
}

/* As `align` does of others, without arithmetic of floats. */
static int32_t align_singles(const step *by, uint32_t row)
{
    const int32_t most = (1 << (by->width - 1)) - 1;
    const int32_t least = at_least(least_of(by, by->out.kind), -most);
    int32_t limit = greatest_of(by, by->out.kind), exponent;
    uint32_t greatest = 0, column;

    limit = limit < most ? limit : most;
    for (column = 0; column < by->columns; column++) {
        const uint32_t size = bits_at(&by->a, row, column) & 0x7FFFFFFFu;
        if (size > greatest)
            greatest = size;
    }
    exponent = (int32_t)(greatest >> 23) - 127 - (int32_t)by->width + 2;
    for (column = 0; column < by->columns; column++) {
        const uint32_t bits = bits_at(&by->a, row, column);
        const int64_t value = exponent < LEAST_POWER ? 0 : integer_of(bits, -exponent);
        store_integer(by->out.at + (row * by->out.row + column * by->out.column), by->out.kind,
                      clamped(value, least, limit));
    }
    return exponent;
}

static void align(const step *by, uint32_t row)
{
    const int32_t most = (1 << (by->width - 1)) - 1;
    double greatest = 0;
    uint32_t column;
    int32_t exponent;

    if (by->a.kind == F32 && is_code(by->out.kind)) {
        exponent = align_singles(by, row);
        store(&by->powers, by, row, 0, exponent < LEAST_POWER ? 0 : exponent);
        return;
    }
    for (column = 0; column < by->columns; column++) {
        const double value = load(&by->a, row, column), size = value < 0 ? -value : value;
        if (size > greatest)
            greatest = size;
    }
    exponent = exponent_of(greatest);
    exponent = (exponent < MOST_EXPONENT ? exponent : MOST_EXPONENT) - (int32_t)by->width + 2;
    for (column = 0; column < by->columns; column++) {
        const double value = load(&by->a, row, column);
        store(&by->out, by, row, column,
              exponent < LEAST_POWER ? 0 : limited(value * power(-exponent), -most, most));
    }
    store(&by->powers, by, row, 0, exponent < LEAST_POWER ? 0 : exponent);
}

/* A float of 32 bits times 2^shift, if neither is subnormal nor too large; else not. */
static bool moved(float *value, int32_t shift)
{
    uint32_t bits;
    int32_t exponent;

    memcpy(&bits, value, sizeof bits);
    if (!(bits << 1))
        return true;
    exponent = (int32_t)(bits >> 23 & 0xFFu);
    if (exponent < 1 || exponent > 254 || exponent + shift < 1 || exponent + shift > 254)
        return false;
    bits += (uint32_t)shift << 23;
    memcpy(value, &bits, sizeof bits);
    return true;
}

/* A half as a float of 32 bits, if it is not subnormal, infinite or no number. */
static bool single_of_half(const operand *of, uint32_t row, uint32_t column, float *value)
{
    const uint8_t *at = of->at + (row * of->row + column * of->column);
    uint16_t half;
    uint32_t bits;

    memcpy(&half, at, sizeof half);
    bits = (uint32_t)(half >> 15) << 31;
    if (half & 0x7FFFu)
        bits |= ((uint32_t)(half & 0x7FFFu) << 13) + (112u << 23);
    memcpy(value, &bits, sizeof bits);
    return !(half & 0x7FFFu) || ((half & 0x7C00u) && (half & 0x7C00u) != 0x7C00u);
}

/* An integer times a half times 2^power, rounded once: the integer has 24 bits at most. */
static float term_of(const operand *number, const operand *half, uint32_t row, uint32_t column,
                     const operand *powers)
{
    const uint8_t *at = number->at + (row * number->row + column * number->column);
    float factor;

    if (is_integer(number->kind) && powers->kind == POWER && half->kind == F16
        && single_of_half(half, row, column, &factor)) {
        float value = (float)integer(at, number->kind) * factor;
        if (moved(&value, integer(powers->at + row * powers->row, POWER)))
            return value;
    }
    return (float)(load(number, row, column) * load(powers, row, 0) * load(half, row, column));
}

static void add_groups(const step *by, uint32_t column)
{
    operand ones = by->ones;
    float total = 0;
    uint32_t row;

    ones.column = 0; /* one of each row */
    for (row = 0; row < by->rows; row++) {
        total += term_of(&by->a, &by->b, row, column, &by->powers);
        if (by->offsets.kind)
            total += term_of(&ones, &by->offsets, row, column, &by->powers);
    }
    if (by->out.kind == F32)
        memcpy(by->out.at + column * by->out.column, &total, sizeof total);
    else
        store(&by->out, by, 0, column, total);
}

/* Whether all operands of a step are integers, and what it does is exact in 64 bits. */
static bool in_integers(const step *by, uint32_t operation)
{
    if (!is_integer(by->out.kind) || by->shift < -20 || by->shift > 20)
        return false;
    switch (operation) {
    case BITS: return is_integer(by->a.kind);
    case COPY: return is_integer(by->a.kind) || by->a.kind == F32;
    case ADD:
    case SUBTRACT: return is_integer(by->a.kind) && is_integer(by->b.kind);
    case MULTIPLY: return is_code(by->a.kind) && is_code(by->b.kind);
    default: return false;
    }
}

static int64_t integer_at(const operand *of, uint32_t row, uint32_t column)
{
    return integer(of->at + (row * of->row + column * of->column), of->kind);
}

static int64_t shifted(int64_t value, int32_t shift)
{
    return shift < 0 ? over(value, (uint32_t)-shift) : value * ((int64_t)1 << shift);
}

static int64_t integer_result(const step *by, uint32_t operation, uint32_t row, uint32_t column)
{
    if (by->a.kind == F32)
        return integer_of(bits_at(&by->a, row, column), by->shift);
    switch (operation) {
    case BITS:
        return (int32_t)integer_at(&by->a, row, column) >> by->shift
               & (int32_t)((1u << by->width) - 1);
    case ADD:
        return shifted(integer_at(&by->a, row, column) + integer_at(&by->b, row, column),
                       by->shift);
    case SUBTRACT:
        return shifted(integer_at(&by->a, row, column) - integer_at(&by->b, row, column),
                       by->shift);
    case MULTIPLY:
        return shifted(integer_at(&by->a, row, column) * integer_at(&by->b, row, column),
                       by->shift);
    default: return shifted(integer_at(&by->a, row, column), by->shift);
    }
}

static void integers(const step *by, uint32_t operation, uint32_t row)
{
    const int32_t low = least_of(by, by->out.kind), high = greatest_of(by, by->out.kind);
    uint32_t column;

    for (column = 0; column < by->columns; column++)
        store_integer(by->out.at + (row * by->out.row + column * by->out.column), by->out.kind,
                      clamped(integer_result(by, operation, row, column), low, high));
}

static bool is_small(int32_t value)
{
    return value >= -SMALL && value <= SMALL;
}

/* Whether floats of 32 bits do for a step: a sum, product or quotient of two of them that is rounded to
 * a double first is the same float, since a double has more than twice as many bits. */
static bool in_singles(const step *by, uint32_t operation)
{
    const bool codes = is_code(by->a.kind);

    switch (operation) {
    case DECODE: return codes && is_small(by->shift) && by->b.kind == F32 && by->out.kind == F32;
    case ENCODE:
        return by->a.kind == F32 && by->b.kind == F32 && (by->out.kind == I8 || by->out.kind == I16)
            && is_small(by->shift) && is_small(by->low) && is_small(by->high);
    case MULTIPLY: return (codes || by->a.kind == F32) && by->b.kind == F32 && by->out.kind == F32;
    case ADD:
    case SUBTRACT:
    case DIVIDE:
    case QUOTIENT:
    case MAXIMUM:
    case MINIMUM:
        return !by->shift && by->a.kind == F32 && by->b.kind == F32 && by->out.kind == F32;
    default:
        return operation >= CARRYSAVE_EXP && operation <= CARRYSAVE_ERF && !by->shift
            && by->a.kind == F32 && by->out.kind == F32;
    }
}

static float single_at(const uint8_t *at)
{
    float value;

    memcpy(&value, at, sizeof value);
    return value;
}

static float single_of(const step *by, uint32_t operation, const uint8_t *at, const uint8_t *other)
{
    const float a = operation == DECODE ? (float)(integer(at, by->a.kind) + by->shift)
        : by->a.kind == F32             ? single_at(at)
                                        : (float)integer(at, by->a.kind);

    switch (operation) {
    case ADD: return a + single_at(other);
    case SUBTRACT: return a - single_at(other);
    case DECODE:
    case MULTIPLY: return a * single_at(other);
    case DIVIDE: return single_at(other) > 0 ? a / single_at(other) : a;
    case QUOTIENT: return a / single_at(other);
    case MAXIMUM: return a > single_at(other) ? a : single_at(other);
    case MINIMUM: return a < single_at(other) ? a : single_at(other);
    default: return carrysave_single(operation, a);
    }
}

/* The code of a quotient, of a byte or two. */
static int32_t code_of(const step *by, float value)
{
    const int32_t least = least_of(by, by->out.kind), most = greatest_of(by, by->out.kind);
    const float low = (float)(by->low - by->shift), high = (float)(by->high - by->shift);
    const float inside = value > low ? value < high ? value : high : low;
    const int32_t code = (int32_t)carrysave_nearest(inside) + by->shift;

    return code > least ? code < most ? code : most : least;
}

static void singles(const step *by, uint32_t operation, uint32_t row)
{
    const uint8_t *a = by->a.at + row * by->a.row, *b = by->b.at + row * by->b.row;
    uint8_t *to = by->out.at + row * by->out.row;
    uint32_t column;

    for (column = 0; column < by->columns; column++) {
        if (operation == ENCODE) {
            store_integer(to, by->out.kind, code_of(by, single_at(a) / single_at(b)));
        } else {
            float value = single_of(by, operation, a, b);
            if (operation == MULTIPLY && !moved(&value, by->shift))
                value = (float)one_of(by, operation, row, column);
            memcpy(to, &value, sizeof value);
        }
        a += by->a.column;
        b += by->b.column;
        to += by->out.column;
    }
}

/* Bytes of the tables that begin at b, by codes of a. */
static void look_up(const step *by, uint32_t row)
{
    const uint8_t *a = by->a.at + row * by->a.row, *b = by->b.at + row * by->b.row;
    uint8_t *to = by->out.at + row * by->out.row;
    const bool codes = by->out.kind == I8;
    uint32_t column;

    for (column = 0; column < by->columns; column++) {
        const uint32_t place = *a ^ 0x80u; /* from the least code on */
        if (codes)
            *to = b[place];
        else
            memcpy(to, b + 4 * place, 4);
        a += by->a.column;
        b += by->b.column;
        to += by->out.column;
    }
}

static operand operand_of(uint8_t *memory, const uint32_t *word)
{
    operand of;

    of.at = memory + word[0];
    of.kind = (format)word[1];
    of.row = word[2];
    of.column = word[3];
    return of;
}

static uint32_t operands_of(uint32_t operation)
{
    if (operation == GROUPS)
        return 6;
    return (operation >= ADD && operation <= DIVIDE) || operation == ALIGN
        || (operation >= PRODUCT && operation <= MINIMUM) || operation >= DECODE ? 3 : 2;
}

static void once(const step *by, uint32_t operation)
{
    const bool by_singles = in_singles(by, operation), by_integers = in_integers(by, operation);
    uint32_t row, column;

    if (operation == GROUPS) {
        for (column = 0; column < by->columns; column++)
            add_groups(by, column);
        return;
    }
    for (row = 0; row < by->rows; row++) {
        if (operation >= GREATEST && operation <= SUM)
            reduce(by, operation, row);
        else if (operation == ALIGN)
            align(by, row);
        else if (operation == LOOK_UP)
            look_up(by, row);
        else if (by_integers)
            integers(by, operation, row);
        else if (by_singles)
            singles(by, operation, row);
        else
            for (column = 0; column < by->columns; column++)
                store(&by->out, by, row, column, one_of(by, operation, row, column));
    }
}

const uint32_t *carrysave_floats(uint8_t *memory, const uint32_t *word)
{
    const uint32_t operation = word[0], operands = operands_of(operation), around = word[7];
    const uint32_t *places = word + HEAD, *loops = places + operands * PART;
    uint32_t index[LOOPS] = {0}, more[OPERANDS] = {0}, loop, at;
    step by;

    if (operation < COPY || operation > LOOK_UP || around > LOOPS)
        return 0;
    memset(&by, 0, sizeof by);
    by.rows = word[1];
    by.columns = word[2];
    by.shift = (int32_t)word[3];
    by.width = word[4];
    by.low = (int32_t)word[5];
    by.high = (int32_t)word[6];
    do {
        by.out = operand_of(memory + (int32_t)more[0], places);
        by.a = operand_of(memory + (int32_t)more[1], places + PART);
        if (operation == GROUPS) {
            by.b = operand_of(memory + (int32_t)more[2], places + 2 * PART);
            by.powers = operand_of(memory + (int32_t)more[3], places + 3 * PART);
            by.ones = operand_of(memory + (int32_t)more[4], places + 4 * PART);
            by.offsets = operand_of(memory + (int32_t)more[5], places + 5 * PART);
        } else if (operands > 2) {
            by.b = by.powers = operand_of(memory + (int32_t)more[2], places + 2 * PART);
        }
        once(&by, operation);
        /* The innermost loop goes on; one that is through begins again, and the next one goes on. */
        for (loop = around; loop--;) {
            const uint32_t *steps = loops + loop * (1 + operands) + 1;
            const uint32_t through = ++index[loop] == steps[-1];
            for (at = 0; at < operands; at++)
                more[at] += through ? steps[at] - index[loop] * steps[at] : steps[at];
            if (!through)
                break;
            index[loop] = 0;
        }
    } while (loop != UINT32_MAX);
    return loops + around * (1 + operands);
}
