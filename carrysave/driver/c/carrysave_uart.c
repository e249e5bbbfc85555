#include "carrysave_uart.h"

#include <string.h>

/* Frames as those of coprocessor_uart. */
#define END 0x7Eu
#define ESCAPE 0x7Du
#define FLIP 0x20u
#define RESET 4u     /* status: the device was reset */
#define SILENT 1u    /* status: memory did not answer */
#define UNSTARTED 8u /* status: memory has not started */
#define HEADER 9u    /* bytes of a command before its CRC */
#define NOISE 65536u /* bytes that may come in vain */
#define MATCH 0xDEBB20E3u
#define IMAGE 0x800000u /* register: CRC-32 of what came from flash; written, it comes anew */
#define FLASH(status) ((status) >> 4 & 7u) /* of a greeting: what came from flash */
#define LOADING 1u
#define LOADED 2u
#define GREETINGS 10000u /* in which it comes */
#define GAP 32u /* bytes that are sent along rather than in a command, which takes about as many */

#ifndef CARRYSAVE_UART_BURST
#define CARRYSAVE_UART_BURST 4096u /* bytes of memory in a command, at most 65535 */
#endif

enum { HELLO, CLAIM, READ, WRITE, ZERO, READ_WORD, WRITE_WORD };

static uint32_t crc_of(uint32_t crc, uint8_t byte)
{
    int bit;

    crc ^= byte;
    for (bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (crc & 1u ? 0xEDB88320u : 0u);
    return crc;
}

/* A frame on its way, in pieces. */
typedef struct {
    carrysave_uart *link;
    uint8_t bytes[64];
    uint32_t count, crc;
    bool sent;
} writer;

static void flush(writer *to)
{
    to->sent = to->sent && to->link->send(to->link->context, to->bytes, to->count);
    to->count = 0;
}

static void put_raw(writer *to, uint8_t byte)
{
    if (to->count == sizeof to->bytes)
        flush(to);
    to->bytes[to->count++] = byte;
}

static void put_byte(writer *to, uint8_t byte)
{
    to->crc = crc_of(to->crc, byte);
    if (byte == END || byte == ESCAPE) {
        put_raw(to, ESCAPE);
        byte = (uint8_t)(byte ^ FLIP);
    }
    put_raw(to, byte);
}

static void put_number(writer *to, uint32_t number, int bytes)
{
    for (; bytes; bytes--, number >>= 8)
        put_byte(to, (uint8_t)(number & 0xFFu));
}

static bool send(carrysave_uart *link, int command, uint32_t address, uint32_t value,
                 const uint8_t *data)
{
    writer to;
    uint32_t at;

    to.link = link;
    to.count = 0;
    to.crc = 0xFFFFFFFFu;
    to.sent = true;
    put_raw(&to, END);
    put_byte(&to, link->sequence);
    put_number(&to, address, 3);
    put_number(&to, (uint32_t)command, 1);
    put_number(&to, value, 4);
    put_number(&to, ~to.crc, 4);
    if (command == WRITE) {
        for (at = 0; at < value; at++)
            put_byte(&to, data[at]);
        put_number(&to, ~to.crc, 4);
    }
    put_raw(&to, END);
    flush(&to);
    return to.sent;
}

/* Wait for the answer: a sequence number, data, status and CRC. */
static bool receive(carrysave_uart *link, uint8_t *data, uint32_t size, uint8_t *status)
{
    const uint32_t length = size + 6u;
    uint32_t at = 0, crc = 0xFFFFFFFFu, noise = NOISE + 4u * length, patience = link->patience + 1u;
    uint8_t bytes[64], sequence = 0, flip = 0;

    while (patience && noise) {
        /* Never wait for more than must come, if all is well: the rest, and the delimiter. */
        const uint32_t rest = at <= length ? length - at + 1u : 1u;
        const uint32_t most = rest < sizeof bytes ? rest : (uint32_t)sizeof bytes;
        const uint32_t count = link->receive(link->context, bytes, most);
        uint32_t next;

        if (!count)
            patience--;
        for (next = 0; next < count && noise; next++, noise--) {
            uint8_t byte = bytes[next];
            if (byte == END) {
                if (at == length && crc == MATCH && sequence == link->sequence)
                    return true;
                at = 0;
                crc = 0xFFFFFFFFu;
                flip = 0;
                continue;
            }
            if (byte == ESCAPE) {
                flip = FLIP;
                continue;
            }
            byte = (uint8_t)(byte ^ flip);
            flip = 0;
            crc = crc_of(crc, byte);
            if (!at)
                sequence = byte;
            else if (at <= size)
                data[at - 1u] = byte;
            else if (at == size + 1u)
                *status = byte;
            at += at <= length;
        }
    }
    return false;
}

/* Have a command carried out once; false if it may not have been. */
static bool carry_out(carrysave_uart *link, int command, uint32_t address, uint32_t value,
                      const uint8_t *sent, uint8_t *data, uint32_t size, uint8_t *status)
{
    uint32_t tries;

    link->sequence++;
    link->failed = true;
    for (tries = link->tries; tries; tries--) {
        if (!send(link, command, address, value, sent) || !receive(link, data, size, status))
            continue;
        if ((*status & RESET) && command > CLAIM) {
            uint8_t exponent, more;
            link->resets++;
            (void)carry_out(link, CLAIM, 0u, 0u, sent, &exponent, 1u, &more);
            link->failed = true;
            return false;
        }
        link->failed = false;
        return true;
    }
    return false;
}

carrysave_status carrysave_uart_reset(carrysave_uart *link)
{
    uint8_t bytes[64], exponent, status;
    uint32_t noise;

    link->failed = true;
    link->unstarted = false;
    for (noise = 0; link->receive(link->context, bytes, (uint32_t)sizeof bytes); noise++)
        if (noise == NOISE / sizeof bytes)
            return CARRYSAVE_LINK;
    if (!carry_out(link, HELLO, 0u, 0u, bytes, &exponent, 1u, &status))
        return CARRYSAVE_LINK;
    if (exponent < 10u || exponent > 24u
        || (link->memory_bytes && link->memory_bytes != (uint32_t)1u << exponent)) {
        link->failed = true;
        return CARRYSAVE_NO_DEVICE;
    }
    link->memory_bytes = (uint32_t)1u << exponent;
    if (status & RESET) {
        link->resets++;
        if (!carry_out(link, CLAIM, 0u, 0u, bytes, &exponent, 1u, &status))
            return CARRYSAVE_LINK;
    }
    return CARRYSAVE_OK;
}

carrysave_status carrysave_uart_open(carrysave_uart *link)
{
    link->memory_bytes = 0u;
    link->tries = link->tries ? link->tries : 8u;
    return carrysave_uart_reset(link);
}

carrysave_status carrysave_uart_started(carrysave_uart *link)
{
    uint8_t exponent, status;

    if (link->failed || !carry_out(link, HELLO, 0u, 0u, NULL, &exponent, 1u, &status))
        return CARRYSAVE_LINK;
    return status & UNSTARTED ? CARRYSAVE_UNSTARTED : CARRYSAVE_OK;
}

/* Access memory in bursts; of `sent` and `taken` one is null, or both. */
static carrysave_status access(carrysave_uart *link, int command, uint32_t address,
                               const uint8_t *sent, uint8_t *taken, uint32_t count)
{
    if (address > link->memory_bytes || count > link->memory_bytes - address)
        return CARRYSAVE_BAD_ADDRESS;
    while (count) {
        const uint32_t burst = count < CARRYSAVE_UART_BURST ? count : CARRYSAVE_UART_BURST;
        uint8_t status;

        if (link->failed
            || !carry_out(link, command, address, burst, sent, taken, taken ? burst : 0u, &status))
            return CARRYSAVE_LINK;
        if (status & UNSTARTED)
            return CARRYSAVE_UNSTARTED;
        if (status)
            return status == SILENT ? CARRYSAVE_SILENT : CARRYSAVE_BAD_ADDRESS;
        sent = sent ? sent + burst : sent;
        taken = taken ? taken + burst : taken;
        address += burst;
        count -= burst;
    }
    return CARRYSAVE_OK;
}

carrysave_status carrysave_uart_read(carrysave_uart *link, uint32_t address, void *bytes,
                                     uint32_t count)
{
    return access(link, READ, address, NULL, (uint8_t *)bytes, count);
}

carrysave_status carrysave_uart_write(carrysave_uart *link, uint32_t address, const void *bytes,
                                      uint32_t count)
{
    return access(link, WRITE, address, (const uint8_t *)bytes, NULL, count);
}

carrysave_status carrysave_uart_zero(carrysave_uart *link, uint32_t address, uint32_t count)
{
    return access(link, ZERO, address, NULL, NULL, count);
}

static bool put_placed(carrysave_uart *link, uint32_t address, uint32_t bytes)
{
    if (carrysave_uart_write(link, address, link->here + address, bytes) != CARRYSAVE_OK)
        return false;
    memcpy(link->there + address, link->here + address, bytes);
    return true;
}

/* Have memory filled from flash, if that has just these bytes; else, or after a failure, false. */
static bool fill(carrysave_uart *link, const uint8_t *bytes, uint32_t count)
{
    uint32_t crc = 0xFFFFFFFFu, tries = GREETINGS;
    uint8_t exponent, status;

    if (link->failed || !carry_out(link, HELLO, 0u, 0u, NULL, &exponent, 1u, &status)
        || FLASH(status) != LOADED)
        return false;
    for (; count; count--)
        crc = crc_of(crc, *bytes++);
    if (carrysave_uart_get(link, IMAGE) != (uint32_t)~crc)
        return false;
    carrysave_uart_put(link, IMAGE, 1u);
    do {
        if (link->failed || !carry_out(link, HELLO, 0u, 0u, NULL, &exponent, 1u, &status))
            return false;
    } while (--tries && FLASH(status) == LOADING);
    return carrysave_uart_get(link, IMAGE) == (uint32_t)~crc;
}

carrysave_status carrysave_uart_place(carrysave_uart *link, uint8_t *here, uint8_t *there,
                                      uint32_t bytes)
{
    carrysave_status status = CARRYSAVE_OK;

    if (!fill(link, here, bytes))
        status = carrysave_uart_write(link, 0u, here, bytes);
    link->here = here;
    link->there = there;
    link->bytes = bytes;
    link->placed = link->resets;
    memcpy(there, here, bytes);
    return status;
}

void carrysave_uart_clean(carrysave_uart *link, uint64_t address, uint64_t bytes)
{
    uint32_t at, end, first, last;

    if (!link->here || address >= link->bytes)
        return;
    if (link->placed != link->resets) {
        /* The device has nothing of it any more. */
        if (carrysave_uart_place(link, link->here, link->there, link->bytes) != CARRYSAVE_OK)
            link->failed = true;
        return;
    }
    at = (uint32_t)address;
    end = bytes < link->bytes - at ? at + (uint32_t)bytes : link->bytes;
    while (at < end) {
        if (link->here[at] == link->there[at]) {
            at++;
            continue;
        }
        for (first = last = at; at < end && at - last <= GAP; at++)
            if (link->here[at] != link->there[at])
                last = at;
        if (!put_placed(link, first, last - first + 1u))
            return;
    }
}

void carrysave_uart_fetch(carrysave_uart *link, uint64_t address, uint64_t bytes)
{
    uint32_t at, count;

    if (!link->here || address >= link->bytes)
        return;
    at = (uint32_t)address;
    count = bytes < link->bytes - at ? (uint32_t)bytes : link->bytes - at;
    if (carrysave_uart_read(link, at, link->here + at, count) == CARRYSAVE_OK)
        memcpy(link->there + at, link->here + at, count);
}

uint32_t carrysave_uart_get(carrysave_uart *link, uint32_t offset)
{
    uint8_t word[4] = {0, 0, 0, 0}, status = 0;

    if (link->failed || !carry_out(link, READ_WORD, offset, 0u, NULL, word, 4u, &status) || status) {
        link->failed = true;
        return 0u;
    }
    return word[0] | (uint32_t)word[1] << 8 | (uint32_t)word[2] << 16 | (uint32_t)word[3] << 24;
}

void carrysave_uart_put(carrysave_uart *link, uint32_t offset, uint32_t value)
{
    uint8_t status = 0;

    if (link->failed || !carry_out(link, WRITE_WORD, offset, value, NULL, NULL, 0u, &status)) {
        link->failed = true;
        return;
    }
    link->failed = status != 0u;
    link->unstarted = (status & UNSTARTED) != 0u;
}
