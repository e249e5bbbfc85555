/* What the compiler and the driver need of C's libraries. */

#include <stdint.h>

#include "string.h"

void *memcpy(void *to, const void *from, size_t bytes)
{
    char *put = to;
    const char *get = from;
    if ((((uintptr_t)put | (uintptr_t)get) & 3u) == 0)
        for (; bytes >= 4; bytes -= 4, put += 4, get += 4)
            *(uint32_t *)(void *)put = *(const uint32_t *)(const void *)get;
    while (bytes--)
        *put++ = *get++;
    return to;
}

int memcmp(const void *one, const void *other, size_t bytes)
{
    const unsigned char *a = one, *b = other;
    for (; bytes--; a++, b++)
        if (*a != *b)
            return *a < *b ? -1 : 1;
    return 0;
}

void *memset(void *to, int value, size_t bytes)
{
    char *put = to;
    const uint32_t word = 0x01010101u * (unsigned char)value;
    if (((uintptr_t)put & 3u) == 0)
        for (; bytes >= 4; bytes -= 4, put += 4)
            *(uint32_t *)(void *)put = word;
    while (bytes--)
        *put++ = (char)value;
    return to;
}

/* The remainder of numbers of 64 bits, which the processor has no instruction for. */
uint64_t __umoddi3(uint64_t number, uint64_t by);

uint64_t __umoddi3(uint64_t number, uint64_t by)
{
    uint64_t rest = 0;
    int place;

    if (!(number >> 32) && !(by >> 32))
        return (uint32_t)number % (uint32_t)by;
    for (place = 63; place >= 0; place--) {
        rest = rest << 1 | (number >> place & 1u);
        if (rest >= by)
            rest -= by;
    }
    return rest;
}
