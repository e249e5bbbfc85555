/* Runs the network on a board: board_program PORT INPUTS OUTPUTS
 *
 * INPUTS has the numbers of all inputs of a batch, one after the other, in the order of program.h,
 * as many batches as you like; OUTPUTS gets those of all outputs. Codes are of the type that
 * program.h names, a byte each; floats are of 32 bits, little-endian. memory.bin, beside it, is sent
 * once. On POSIX systems:
 *
 *   cc -O2 -DCARRYSAVE_CONFIG='"carrysave_uart.h"' -Idrivers/c -Iprogram -o board_program \
 *      board_program.c drivers/c/carrysave*.c
 */

#define _DEFAULT_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "board_program.h"
#include "carrysave_program.h"
#include "carrysave_uart.h"

static uint8_t memory[(PROGRAM_BYTES + 15u) / 16u * 16u] __attribute__((aligned(16)));
static uint8_t there[sizeof memory];

static bool send_bytes(void *context, const uint8_t *bytes, uint32_t count)
{
    const int file = *(const int *)context;

    while (count) {
        const ssize_t done = write(file, bytes, count);
        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0) {
            bytes += done;
            count -= (uint32_t)done;
        }
    }
    return true;
}

static uint32_t receive_bytes(void *context, uint8_t *bytes, uint32_t count)
{
    const ssize_t done = read(*(const int *)context, bytes, count);
    return done > 0 ? (uint32_t)done : 0u;
}

/* Open a port, raw, which waits 0.2 s for a byte. */
static int open_port(const char *name)
{
    const int file = open(name, O_RDWR | O_NOCTTY);
    struct termios how;

    if (file < 0 || tcgetattr(file, &how))
        return -1;
    cfmakeraw(&how);
    how.c_cc[VMIN] = 0;
    how.c_cc[VTIME] = 2;
    how.c_cflag |= CLOCAL | CREAD;
    if (cfsetspeed(&how, BOARD_BAUD) || tcsetattr(file, TCSANOW, &how))
        return -1;
    return file;
}

/* The address of a number of a tensor. */
static uint32_t address_of(const board_tensor *of, uint32_t number)
{
    uint32_t address = of->address, axis;

    if (of->addresses)
        return of->addresses[number];
    for (axis = of->axes; axis; axis--) {
        address += number % of->shape[axis - 1u] * of->strides[axis - 1u];
        number /= of->shape[axis - 1u];
    }
    return address;
}

/* Copy numbers of a tensor from a file, or to it; false: it has no more. */
static bool copy(const board_tensor *of, FILE *file, bool in)
{
    uint8_t bytes[8];
    uint32_t number;

    for (number = 0; number < of->count; number++) {
        uint8_t *at = memory + address_of(of, number);
        if (in && fread(bytes, of->bytes, 1, file) != 1)
            return false;
        if (of->bytes == 1u && in)
            *at = (uint8_t)(bytes[0] - (uint32_t)of->offset);
        else if (of->bytes == 1u)
            bytes[0] = (uint8_t)(*at + (uint32_t)of->offset);
        else
            memcpy(in ? at : bytes, in ? bytes : at, of->bytes);
        if (!in && fwrite(bytes, of->bytes, 1, file) != 1)
            return false;
    }
    return true;
}

static int say(const char *what, carrysave_status status)
{
    fprintf(stderr, "board_program: %s: %s\n", what, carrysave_status_text(status));
    return 1;
}

/* Memory that is not there yet may start while its host asks, which takes a millisecond or so. */
static carrysave_status await_memory(carrysave_uart *link)
{
    carrysave_status status = CARRYSAVE_UNSTARTED;
    uint32_t tries;

    for (tries = 1000; tries && status == CARRYSAVE_UNSTARTED; tries--)
        status = carrysave_uart_started(link);
    return status;
}

int main(int count, char **words)
{
    static carrysave device;
    static carrysave_uart link;
    FILE *image = fopen("memory.bin", "rb"), *in, *out;
    carrysave_status status;
    uint32_t each;
    int file;

    if (count != 4) {
        fprintf(stderr, "board_program PORT INPUTS OUTPUTS\n");
        return 2;
    }
    file = open_port(words[1]);
    in = fopen(words[2], "rb");
    out = fopen(words[3], "wb");
    if (!image || file < 0 || !in || !out || fread(memory, PROGRAM_BYTES, 1, image) != 1) {
        perror("board_program");
        return 1;
    }
    link.context = &file;
    link.send = send_bytes;
    link.receive = receive_bytes;
    status = carrysave_uart_open(&link);
    if (status == CARRYSAVE_OK)
        status = carrysave_open(&device, NULL, &link);
    if (status == CARRYSAVE_OK && device.info.hash != BOARD_HASH) {
        fprintf(stderr, "board_program: %s: it has another design than " BOARD_NAME "'s\n", words[1]);
        return 1;
    }
    if (status == CARRYSAVE_OK)
        status = await_memory(&link);
    if (status == CARRYSAVE_OK)
        status = carrysave_uart_place(&link, memory, there, sizeof memory);
    if (status != CARRYSAVE_OK)
        return say(words[1], status);
    for (;;) {
        for (each = 0; each < BOARD_INPUTS; each++)
            if (!copy(&board_inputs[each], in, true))
                return fclose(out) ? 1 : 0;
        status = carrysave_program_run(&device, memory, 0, PROGRAM_SECTION_0, NULL, NULL);
        if (status != CARRYSAVE_OK)
            return say("run", status);
        for (each = 0; each < BOARD_OUTPUTS; each++)
            if (!copy(&board_outputs[each], out, false))
                return say(words[3], CARRYSAVE_LINK);
    }
}
