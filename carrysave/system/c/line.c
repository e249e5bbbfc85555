#include "line.h"

#include <stdbool.h>

#include "system.h"

enum { END = 0x7E, ESCAPE = 0x7D, FLIP = 0x20, HEADER = 9, CRC = 4, NOTHING = -1 };

/* Of the bytes of a frame and its CRC; all that is whole has the same. */
#define WHOLE 0xDEBB20E3u

static uint32_t crc_add(uint32_t crc, uint8_t byte)
{
    static const uint32_t of_nibble[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
        0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
        0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    crc ^= byte;
    crc = crc >> 4 ^ of_nibble[crc & 15u];
    return crc >> 4 ^ of_nibble[crc & 15u];
}

static uint8_t receive(void)
{
    uint8_t byte;
    while (SYSTEM_REGISTER(UART_RXEMPTY)) {
    }
    byte = (uint8_t)SYSTEM_REGISTER(UART_RXTX);
    SYSTEM_REGISTER(UART_EV_PENDING) = 2u; /* on to the next */
    return byte;
}

static void send(uint8_t byte)
{
    while (SYSTEM_REGISTER(UART_TXFULL)) {
    }
    SYSTEM_REGISTER(UART_RXTX) = byte;
}

/* The next byte of a frame; NOTHING at its end. */
static int next(void)
{
    const uint8_t byte = receive();
    if (byte == END)
        return NOTHING;
    if (byte != ESCAPE)
        return byte;
    const uint8_t escaped = receive();
    return escaped == END ? NOTHING : escaped ^ FLIP;
}

static bool take(uint8_t *to, uint32_t bytes, uint32_t *crc)
{
    while (bytes--) {
        const int byte = next();
        if (byte == NOTHING)
            return false;
        *crc = crc_add(*crc, (uint8_t)byte);
        *to++ = (uint8_t)byte;
    }
    return true;
}

request line_request(uint8_t *(*place)(const request *asked))
{
    for (;;) {
        uint8_t header[HEADER + CRC], end[CRC], *to;
        uint32_t crc = 0xFFFFFFFFu;
        request asked;

        if (!take(header, sizeof header, &crc)) {
            continue;
        }
        if (crc != WHOLE) {
            while (next() != NOTHING) {
            }
            continue;
        }
        asked.sequence = header[0];
        asked.address = header[1] | (uint32_t)header[2] << 8 | (uint32_t)header[3] << 16;
        asked.command = header[4];
        asked.value = header[5] | (uint32_t)header[6] << 8 | (uint32_t)header[7] << 16
            | (uint32_t)header[8] << 24;
        if (asked.command != WRITE)
            return asked;
        to = place(&asked);
        if (to && take(to, asked.value & 0xFFFFu, &crc) && take(end, CRC, &crc) && crc == WHOLE)
            return asked;
    }
}

static void put(uint8_t byte, uint32_t *crc)
{
    *crc = crc_add(*crc, byte);
    if (byte == END || byte == ESCAPE) {
        send(ESCAPE);
        byte ^= FLIP;
    }
    send(byte);
}

void line_answer(const request *asked, const uint8_t *data, uint32_t bytes, uint8_t status)
{
    uint32_t crc = 0xFFFFFFFFu, unused = 0, sum;
    int place;

    send(END);
    put(asked->sequence, &crc);
    while (bytes--)
        put(*data++, &crc);
    put(status, &crc);
    sum = ~crc;
    for (place = 0; place < 32; place += 8)
        put((uint8_t)(sum >> place), &unused);
    send(END);
}
